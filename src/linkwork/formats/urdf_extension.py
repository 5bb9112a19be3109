"""Data that URDF cannot express: an element ``<linkwork>`` in a <robot>, which other programs ignore.

``differences`` writes those properties of a model that the file without this element lacks; ``completed`` reads them.
Numbers that URDF does have are repeated here with all digits, and count only as long as they agree: edits by hand of
the part that other programs read take precedence. Limits are written field by field, so that a new field needs no
change here.

    <linkwork gravity="0.0 0.0 -9.81">
      <body name="forearm" armature="0.1" placement="..." inertia="..."/>    differences from the URDF part
      <body name="leg" joint="..."/>                                         a joint that URDF does not have, as JSON
      <frame name="grip" kind="frame"/>                                      all frames, in order
      <constraint is="..."/> <actuator is="..."/> <mesh filename="..."/>     as JSON, where the URDF part has none
      <contact is="..."/> <contacts are="..."/>                              single ones, and settings of all
    </linkwork>
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from linkwork.arguments import finite
from linkwork.errors import LinkworkError, ModelError
from linkwork.formats.contact_data import contact_data, contact_of, contacts_of, rest_data
from linkwork.formats.urdf import EXTENSION
from linkwork.formats.xml import Element, attribute
from linkwork.joints import Cylindrical, Free, Helical, Joint, Prismatic, Revolute, Spherical, Universal
from linkwork.model.actuators import Actuator
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Ball, Constraint, Coupling, Hinge, PointOnPlane, Rolling, Weld
from linkwork.model.model import WORLD, Body, Frame, Limits, Model, Point
from linkwork.model.placements import as_placement
from linkwork.model.queries import name_of
from linkwork.spatial import AnyAxis, CoordinateAxis, Transform, Vec3

LARGEST = 1e30
"""The number written for an infinite limit, which URDF cannot express."""
_CLOSE = 1e-9
OTHERS = {kind.__name__: kind for kind in (Spherical, Universal, Cylindrical, Helical)}
"""Joints that URDF does not have: in the file they are floating joints, which do not restrict their motion."""
_CONSTRAINTS = {kind.__name__: kind for kind in (Weld, Ball, Hinge, PointOnPlane, Rolling, Coupling)}


# Writing


def differences(model: Model, read: Model) -> Iterator[str]:
    """The element's lines, for a model and the model that the file without the element is read as."""
    name = f" name={attribute(model.name)}" if model.name != read.name else ""
    none = "" if model.frames else ' frames="none"'
    base = "" if model.base_inertia == read.base_inertia else f' base="{_numbers(model.base_inertia.numbers())}"'
    yield f'<{EXTENSION}{name} gravity="{_numbers(model.gravity)}"{base}{none}>'
    for body, other in zip(model.bodies, read.bodies, strict=True):
        words = dict(_of_body(body, other))
        if words:
            yield f"  <body name={attribute(body.name)} {_words(words)}/>"
    if model.frames != read.frames:
        there = {frame.name: frame for frame in read.frames}
        for frame in model.frames:
            yield f"  <frame name={attribute(frame.name)} {_words(_of_frame(model, frame, there.get(frame.name)))}/>"
    for field, (tag, word, text) in _LISTS.items():
        if getattr(model, field) != getattr(read, field):
            yield from (f"  <{tag} {word}={attribute(text(each))}/>" for each in getattr(model, field))
    if model.contacts != read.contacts:
        yield f"  <contacts are={attribute(json.dumps(rest_data(model.contacts)))}/>"
    yield f"</{EXTENSION}>"


def _of_body(body: Body, other: Body) -> Iterator[tuple[str, str]]:
    if not body.joint.nv:
        yield "fixed", "keep"
    if body.placement != other.placement:
        yield "placement", _numbers(body.placement.numbers())
    if body.inertia != other.inertia:
        yield "inertia", _numbers(body.inertia.numbers())
    if body.joint != other.joint and isinstance(body.joint, Revolute | Prismatic):
        yield "axis", _numbers(body.joint.axis.direction.numbers())
    if type(body.joint) in OTHERS.values():
        yield "joint", _data(body.joint)
    if body.armature:
        yield "armature", _numbers(body.armature)
    if body.actuated is not None:
        yield "actuated", str(body.actuated).lower()
    for field in fields(Limits):
        values = getattr(body.limits, field.name)
        if values != getattr(other.limits, field.name):
            yield field.name, _numbers(values)


def _data(value: Any) -> str:
    """A joint or a constraint by its kind and its fields, as JSON."""
    coupling = isinstance(value, Coupling)
    names = ("joint_a", "joint_b", "ratio", "offset") if coupling else [field.name for field in fields(value)]
    return json.dumps([type(value).__name__, {name: _plain(getattr(value, name)) for name in names}])


def _plain(value: Any) -> Any:
    """The value of a field as plain data."""
    if isinstance(value, str | float | None):
        return value
    if isinstance(value, CoordinateAxis):
        return value.name
    if isinstance(value, Point):
        return vars(value)
    if isinstance(value, AnyAxis):
        value = value.direction
    return [float(number) for number in (value.numbers() if isinstance(value, Transform | Vec3) else value)]


def _of_frame(model: Model, frame: Frame, there: Frame | None) -> dict[str, str]:
    words = {"kind": frame.kind}
    if there is None or (there.body, there.placement) != (frame.body, frame.placement):
        words["body"] = name_of(model, frame.body)
        words["placement"] = _numbers(frame.placement.numbers())
    return words


def _of_constraint(constraint: Constraint) -> str:
    if _CONSTRAINTS.get(type(constraint).__name__) is not type(constraint):
        raise ModelError(f"{constraint!r} is of a class of your own, and cannot be written to a file")
    return _data(constraint)


def _words(words: dict[str, str]) -> str:
    return " ".join(f"{key}={attribute(value)}" for key, value in words.items())


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


_LISTS: dict[str, tuple[str, str, Callable[[Any], str]]] = {
    "constraints": ("constraint", "is", _of_constraint),
    "actuators": ("actuator", "is", lambda actuator: json.dumps(vars(actuator))),
    "meshes": ("mesh", "filename", str),
    "contacts": ("contact", "is", lambda contact: json.dumps(contact_data(contact))),
}
"""The tag of each of these, its attribute, and the text of one."""


# Reading


def completed(extension: Element, model: Model) -> Model:
    """A model with the data of the element; parts that are no longer in the file are ignored."""
    parts: dict[str, list[Element]] = {}
    for part in extension.children:
        parts.setdefault(part.tag, []).append(part)
    bodies = list(model.bodies)
    for part in parts.get("body", []):
        index = model._body_index.get(part.word("name"))
        if index is not None:
            bodies[index] = _body(part, bodies[index])
    meshes = [part.word("filename") for part in parts.get("mesh", [])]
    changes: dict[str, Any] = {
        "bodies": tuple(bodies),
        "base_inertia": _exact(extension, "base", model.base_inertia),
        "meshes": tuple(dict.fromkeys([*model.meshes, *meshes])),
        "name": extension.get("name") if extension.get("name") is not None else model.name,
    }
    if "frame" in parts or extension.get("frames") == "none":
        changes["frames"] = _frames(parts.get("frame", []), model)
    for tag, build in (("constraint", _constraint), ("actuator", _actuator)):
        if tag in parts:
            changes[f"{tag}s"] = tuple(_built(part, build) for part in parts[tag])
    if "contacts" in parts or "contact" in parts:
        changes["contacts"] = _contacts(parts.get("contact", []), parts.get("contacts", []))
    try:
        return replace(model, **changes)
    except LinkworkError as error:
        raise extension.error(str(error)) from None


def _contacts(parts: list[Element], settings: list[Element]) -> Contacts:
    contacts = [_built(part, contact_of) for part in parts]
    return _built(settings[0], partial(contacts_of, contacts), "are") if settings else contacts_of(contacts, {})


def _body(part: Element, body: Body) -> Body:
    if part.get("joint") is not None and isinstance(body.joint, Free):
        joint = _built(part, _joint, "joint")
        body = replace(body, joint=joint, limits=Limits.none(joint), armature=())
    changes: dict[str, Any] = {}
    for field in ("placement", "inertia"):
        changes[field] = _exact(part, field, getattr(body, field))
    if part.get("axis") is not None and isinstance(body.joint, Revolute | Prismatic):
        axis = part.measures("axis", 3)
        if _agree(body.joint.axis.direction.numbers(), axis):
            changes["joint"] = type(body.joint)(AnyAxis(Vec3(*axis)))
    if part.get("armature") is not None:
        rotor = tuple(part.measures("armature", body.joint.nv))
        if min(rotor, default=0.0) < 0.0:
            raise part.error(f"the armature of body {body.name!r} must not be negative")
        changes["armature"] = rotor if any(rotor) else ()
    if part.get("actuated") is not None:
        changes["actuated"] = _switch(part, "actuated")
    limits = {}
    for limit in fields(Limits):
        if part.get(limit.name) is not None:
            values = _limit(part, limit.name, body)
            if values is not None:
                limits[limit.name] = values
    return replace(body, limits=replace(body.limits, **limits), **changes)


def _exact(part: Element, field: str, plain: Any) -> Any:
    """Numbers with all digits, as long as they agree with the URDF part."""
    exact = plain.of(part.measures(field, len(plain.numbers()), plain.numbers()))
    return exact if _agree(plain.numbers(), exact.numbers()) else plain


def _limit(part: Element, field: str, body: Body) -> tuple[float, ...] | None:
    """The numbers of a limit, one for each coordinate or degree of freedom; None if the URDF part has others by now."""
    count = body.joint.nq if field in ("lower", "upper", "springref") else body.joint.nv
    try:
        numbers = tuple(map(float, part.word(field).split()))
    except ValueError:
        numbers = ()
    if len(numbers) != count or any(map(math.isnan, numbers)) or (field == "stiffness" and min(numbers) < 0.0):
        raise part.error(f"attribute {field!r} must be {count} number(s), or inf, not {part.word(field)[:60]!r}")
    plain = getattr(body.limits, field)
    plainly = isinstance(body.joint, Revolute | Prismatic)  # URDF can express these
    in_urdf = plainly and plain and field in ("lower", "upper", "velocity", "effort")
    if in_urdf and plain[0] not in (numbers[0], max(-LARGEST, min(LARGEST, numbers[0]))):
        return None
    return numbers


def _frames(parts: list[Element], model: Model) -> tuple[Frame, ...]:
    """The frames in order, then those added to the file since."""
    there = {frame.name: frame for frame in model.frames}
    default = {WORLD, *model.body_names, *model.joint_names}
    listed: dict[str, Frame] = {}
    for part in parts:
        name, kind = part.word("name"), part.word("kind")
        if kind not in ("frame", "link", "joint"):
            raise part.error(f"attribute 'kind' must be frame, link or joint, not {kind[:60]!r}")
        frame = there.get(name)
        if part.get("placement") is not None:
            exact = Transform.identity().of(part.measures("placement", 12))
            number = model._body_index.get(part.word("body"), -1) + 1
            same = frame is not None and frame.body == number
            if frame is None or name in default or (same and _agree(frame.placement.numbers(), exact.numbers())):
                frame = Frame(name, number, _placement(part, name, exact), kind)
        if frame is not None:
            listed[name] = replace(frame, kind=kind)
    names = {part.word("name") for part in parts} | default
    return (*listed.values(), *(frame for frame in model.frames if frame.name not in names))


def _placement(part: Element, name: str, exact: Transform) -> Transform:
    try:
        return as_placement(f"frame {name[:60]!r}", exact)
    except ModelError as error:
        raise part.error(str(error)) from None


def _built(part: Element, build: Any, attribute: str = "is") -> Any:
    try:
        return build(json.loads(part.word(attribute)))
    except (LinkworkError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise part.error(f"attribute {attribute!r} does not say what it is: {str(error)[:200]}") from None


def _joint(data: Any) -> Joint:
    kind, parts = data
    axes = {key: AnyAxis(_direction(value)) for key, value in parts.items() if isinstance(value, list)}
    return OTHERS[kind](**{**parts, **axes})


def _direction(numbers: list[Any]) -> Vec3:
    """A unit vector, with all digits."""
    x, y, z = (finite("axis", number) for number in numbers)
    if abs(x * x + y * y + z * z - 1.0) > _CLOSE:
        raise ModelError(f"an axis has length 1, not that of {(x, y, z)}")
    return Vec3(x, y, z)


def _constraint(data: Any) -> Constraint:
    kind, parts = data
    for key, value in parts.items():
        if isinstance(value, dict):
            parts[key] = Point(**{word: _tuples(item) for word, item in value.items()})
        elif key == "placement":
            parts[key] = Transform.identity().of([float(number) for number in value])
        else:
            parts[key] = _tuples(value)
    return _CONSTRAINTS[kind](**parts)


def _actuator(data: Any) -> Actuator:
    return Actuator(**{key: _tuples(value) for key, value in data.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _agree(plain: Sequence[Any], exact: Sequence[Any]) -> bool:
    size = max(1e-12, *map(abs, plain), *map(abs, exact))
    return all(abs(a - b) <= _CLOSE * size for a, b in zip(plain, exact, strict=True))


def _switch(part: Element, attribute: str) -> bool:
    word = part.word(attribute)
    if word not in ("true", "false"):
        raise part.error(f"attribute {attribute!r} must be true or false, not {word[:60]!r}")
    return word == "true"
