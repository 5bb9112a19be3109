"""Model files: URDF and MJCF are read, URDF is written. The reader of a format is imported with the first file of that
format.

    xml                                         a strict reader of elements
    urdf, urdf_parts, urdf_geometry             URDF: the tree; its joints and links; its shapes
    contact_data, urdf_extension, urdf_writer   contacts as data; what URDF cannot express; a Model as URDF
    roots, mjcf_files, mjcf                     MJCF: its folder; checks of its files; the model, by MuJoCo's compiler
    omissions                                   what a Model does not have
    mjcf_parts, mjcf_contacts, mjcf_geometry    its constraints and motors, contacts, shapes
    robots                                      by name
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from linkwork.arguments import choice, file_path, switch
from linkwork.errors import ArgumentError, FormatError
from linkwork.formats import robots
from linkwork.formats.roots import checked, root_of
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
    root: str | os.PathLike[str] | None = None,
    strict_root: bool = False,
) -> Model:
    """Read a mechanism from a URDF or an MJCF file, or a robot by its name.

    Units are those of the files: m, kg, rad, N. Only the file itself is opened and, for MJCF, the files that it refers
    to, as far as they are in its ``root``. Visual and collision geometry is kept in ``model.geometry``, with meshes as
    references that are opened only when they are shown. A joint that mimics another keeps its own coordinate, and a
    coupling is added to ``model.constraints``, as are the equality constraints of an MJCF file.

    A URDF robot agrees with Pinocchio, joint order included, except that a continuous joint is one angle. An MJCF robot
    keeps MuJoCo's order and its q, except that quaternions are (x, y, z, w) and a free body's linear velocity is in the
    body's frame.

    Args:
        path: the file; the format is recognised by the root element, not by the file's name. Or a name such as "panda",
            for a robot of an installed example-robot-data, or one that robot_descriptions has downloaded before;
            ``linkwork robots`` lists them. Nothing is downloaded.
        floating_base: URDF only: put a free joint named "root_joint" under the root link, which is otherwise fixed to
            the world.
        joint_order: URDF only: "pinocchio" (depth first, the joints on a link by name) or "file"; by default
            "pinocchio", but "file" for a file written by ``lw.save``.
        fixed_joints: "merge" merges a body on a fixed joint into its parent body, and keeps its name as a frame; "keep"
            keeps it as a body.
        strict: reject errors that other readers ignore: in a URDF, a lower limit above the upper (read as no limits), a
            second ``<axis>`` (ignored), a joint that mimics one that does not exist (read as an independent
            coordinate), and blank lines before the XML declaration. If False, there is a warning for each.
        root: MJCF only: the folder in which files may be read that the file refers to (links are resolved first). By
            default the package or repository that holds the file: the nearest folder above it with a ``package.xml`` or
            ``.git``, the top folder of a Python package, or what an installed distribution has in ``site-packages``;
            but never a home or a system folder. If there is none, the file's own folder.
        strict_root: whether the root is the file's own folder: for files from others, which should not choose what is
            read of a package.

    Returns:
        The model.

    Raises:
        FormatError: if the file cannot be read, or refers to a file outside of the root, with its line, column and
            element, and the ``root`` that would contain the file.
        ArgumentError: if an option has an invalid value.
        MissingExtraError: if the package ``mujoco``, which MJCF needs, is not installed.

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
    strict, strict_root = switch("strict", strict), switch("strict_root", strict_root)
    if isinstance(path, str) and robots.is_name(path):
        robot = robots.find(path)
        if isinstance(robot, str):
            raise FormatError(f"there is no such file, {robot}", path)
        name = str(robot.path)
    folder = partial(root_of, name, checked(root, strict_root), strict_root)
    with _resting_collector():
        return _model(name, floating_base, joint_order, fixed_joints, strict, folder)


def _model(
    name: str,
    floating_base: bool,
    joint_order: str | None,
    fixed_joints: str,
    strict: bool,
    folder: Callable[[], str],
) -> Model:
    """The mechanism of a file; its XML elements are freed on return."""
    urdf_robots: list[Robot] = []

    def robot_of(root: Element) -> Callable[[Element], None]:
        from linkwork.formats.urdf_parts import Robot

        urdf_robots.append(Robot(root, strict))
        return urdf_robots[0].take

    root = read(name, strict=strict, taking={"robot": robot_of})
    if urdf_robots:
        from linkwork.formats import urdf

        return urdf.model_of(
            urdf_robots[0], floating_base=floating_base, joint_order=joint_order, fixed_joints=fixed_joints
        )
    if root.tag == "mujoco":
        if floating_base:
            raise ArgumentError(f"floating_base is for URDF; in {name}, an MJCF file, write <freejoint/> in the body")
        from linkwork.formats import mjcf

        return mjcf.model_of(root, fixed_joints=fixed_joints, folder=folder())
    raise root.error(f"the root element must be <robot> (URDF) or <mujoco> (MJCF), not <{quoted(root.tag)[1:-1]}>")


@contextlib.contextmanager
def _resting_collector() -> Iterator[None]:
    """Disable the cyclic garbage collector, as reading creates no cycles: it would traverse the growing tree of
    elements again and again.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
