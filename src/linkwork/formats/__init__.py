"""Model files: URDF and MJCF are read, URDF is written. What reads one format only is imported with the first file of
that format.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from linkwork.arguments import choice, file_path, switch
from linkwork.errors import ArgumentError, FormatError
from linkwork.formats import robots
from linkwork.formats.xml import Element, quoted, read
from linkwork.model import Model

if TYPE_CHECKING:
    from linkwork.formats.urdf_parts import Robot


def load(
    path: str | os.PathLike[str],
    floating_base: bool = False,
    *,
    joint_order: str | None = None,
    fixed_joints: str = "merge",
    strict: bool = False,
) -> Model:
    """Read a mechanism from a URDF or an MJCF file, or a robot by its name.

    Units are the files': m, kg, rad, N. Only the file itself is opened (and, for MJCF, what it includes from its own
    folder); visuals and collisions are kept in ``model.geometry``, their meshes as references, opened only where they
    are shown. A joint that mimics another stays a coordinate of its own; that it follows the other is one of
    ``model.constraints``, as are equalities of an MJCF file.

    A URDF robot agrees with Pinocchio, joint order included, but a continuous joint is one angle. An MJCF robot keeps
    MuJoCo's order and its q, but quaternions are (x, y, z, w) and a free body's linear velocity is in the body's frame.

    Args:
        path: the file; its root element tells the format, not its name. Or a name such as "panda", for a robot of an
            installed example-robot-data, or of what robot_descriptions has fetched before; ``linkwork robots`` lists
            them. Nothing is fetched from the network.
        floating_base: URDF only: put a free joint named "root_joint" under the root link, which is part of the
            world otherwise.
        joint_order: URDF only: "pinocchio" (depth first, the joints on a link by name) or "file"; if left out,
            "pinocchio", but "file" for a file that ``lw.save`` has written.
        fixed_joints: "merge" makes a body on a fixed joint a part of the body that carries it, and its name a frame;
            "keep" keeps it as a body of its own.
        strict: refuse what other readers overlook: in a URDF, a lower limit above the upper (read as no limits), a
            second ``<axis>`` (left out), a joint that mimics none that there is (read as an independent coordinate),
            and blank lines before the XML declaration. If False, a warning says what is done.

    Returns:
        The mechanism.

    Raises:
        FormatError: the file cannot be read, with its line, column and element.
        ArgumentError: an option has no such value.
        MissingExtraError: MJCF needs the package ``mujoco``.

    Example:
        >>> import pathlib, tempfile
        >>> import linkwork as lw
        >>> text = '''<robot name="pendulum">
        ...   <link name="base"/>
        ...   <link name="rod">
        ...     <inertial>
        ...       <origin xyz="0 0 -0.5"/>
        ...       <mass value="1"/>
        ...       <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/>
        ...     </inertial>
        ...   </link>
        ...   <joint name="hinge" type="continuous">
        ...     <parent link="base"/>
        ...     <child link="rod"/>
        ...     <axis xyz="0 1 0"/>
        ...   </joint>
        ... </robot>'''
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "pendulum.urdf")
        ...     _ = path.write_text(text)
        ...     model = lw.load(path)
        >>> model
        <Model 'pendulum': 1 bodies, nq 1, nv 1>
        >>> model.joint_names, model.frame_names
        (('hinge',), ('world', 'base', 'rod', 'hinge'))
    """
    if isinstance(path, str) and not path:
        raise ArgumentError("path must be the path of a file, or the name of a robot, not ''")
    name = path if isinstance(path, str) else str(file_path("path", path))
    floating_base = switch("floating_base", floating_base)
    if joint_order is not None:
        choice("joint_order", joint_order, ("pinocchio", "file"))
    choice("fixed_joints", fixed_joints, ("merge", "keep"))
    strict = switch("strict", strict)
    if isinstance(path, str) and robots.is_name(path):
        found = robots.find(path)
        if isinstance(found, str):
            raise FormatError(f"there is no such file, {found}", path)
        name = str(found.path)
    with _resting_collector():
        return _model(name, floating_base, joint_order, fixed_joints, strict)


def _model(name: str, floating_base: bool, joint_order: str | None, fixed_joints: str, strict: bool) -> Model:
    """The mechanism in a file, whose elements are gone when it is there."""
    found: list[Robot] = []

    def robot_of(root: Element) -> Callable[[Element], None]:
        from linkwork.formats.urdf_parts import Robot

        found.append(Robot(root, strict))
        return found[0].take

    root = read(name, strict=strict, taking={"robot": robot_of})
    if found:
        from linkwork.formats import urdf

        return urdf.model_of(found[0], floating_base=floating_base, joint_order=joint_order, fixed_joints=fixed_joints)
    if root.tag == "mujoco":
        if floating_base:
            raise ArgumentError(f"floating_base is for URDF; in {name}, an MJCF file, write <freejoint/> in the body")
        from linkwork.formats import mjcf

        return mjcf.model_of(root, fixed_joints=fixed_joints)
    raise root.error(f"the root element must be <robot> (URDF) or <mujoco> (MJCF), not <{quoted(root.tag)[1:-1]}>")


@contextlib.contextmanager
def _resting_collector() -> Iterator[None]:
    """Without the search for cyclic garbage, of which reading makes none: it would look through the growing tree of
    elements again and again.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
