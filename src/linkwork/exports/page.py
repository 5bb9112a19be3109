"""A page in which a mechanism moves by exported code: sliders place its joints, it is dragged and let fall."""

from __future__ import annotations

import base64
from math import isfinite
from typing import Any

import numpy as np

from linkwork.arguments import Array
from linkwork.dynamics.kinematics import neutral
from linkwork.engine.code.cross import machine
from linkwork.exports.objects import code_of
from linkwork.exports.templates import template
from linkwork.exports.unit import Unit
from linkwork.exports.wasm_binary import module_of
from linkwork.exports.wasm_script import class_name, script
from linkwork.model.model import Model
from linkwork.plain import one_line
from linkwork.viewer.camera import VIEW
from linkwork.viewer.motions import Motion
from linkwork.viewer.page.save_html import Scene, filled, script_of

_TRIANGLES = 24_000
"""Of all meshes of a page."""


def page(unit: Unit, provenance: str) -> str:
    """The page of a step."""
    assert unit.page is not None and unit.model is not None
    dt, units = unit.page
    model, (step, placements) = unit.model, units()
    parts = [_inline(each, provenance) for each in (step, placements)]
    rest = _rest(model)
    drawn = Scene([Motion(model, rest)], 30.0, False, None, "visual", [], _TRIANGLES)
    drawn.add(0, (), ())
    scene = drawn.scene(None, VIEW, True)
    scene["robot"] = {"dt": dt, "mass": model.mass, "q": rest.tolist(), "joints": _joints(model), "nv": model.nv}
    text = "\n".join([*parts, script_of(("data.js", "camera.js", "draw.js")), template("live.js")])
    title = f"{one_line(model.name)}: drag it, or let it fall"
    return filled(template("live.html"), title, scene, drawn.numbers.text(), text)


def _inline(unit: Unit, provenance: str) -> str:
    """A module within a page, as a class and a constant with its bytes."""
    code = code_of(unit, provenance, machine("wasm32", None)._replace(lanes=1))
    names = [unit.name, f"{unit.name}_batch", f"{unit.name}_status", *([f"{unit.name}_run"] if unit.over_time else [])]
    module = module_of(code.image, names)
    text = script(unit, provenance, module, code.text.workspace)
    before, _, after = text.partition("// The functions of a module")
    plain = before.replace("export const", "const") + after[after.index("export class") :].replace(
        "export class", "class"
    )
    data = base64.b64encode(module.image).decode("ascii")
    body = plain.replace("class ", "return class ", 1)
    return f'const {class_name(unit.name)} = (() => {{\n{body}}})();\nconst {unit.name} = "{data}";'


def _rest(model: Model) -> Array:
    """A configuration in the middle of the limits, halfway from the neutral one."""
    rest = neutral(model)
    with np.errstate(all="ignore"):
        middle = 0.5 * (model.lower_limit + model.upper_limit)
    inside = np.isfinite(middle) & ((rest < model.lower_limit) | (rest > model.upper_limit))
    return np.where(inside, middle, rest)


def _joints(model: Model) -> list[dict[str, Any]]:
    """The joints that a slider can move: of one number each."""
    joints = []
    for body, q in zip(model.bodies, model.q_start, strict=True):
        if body.joint.nq != 1 or body.joint.nv != 1:
            continue
        low, high = float(model.lower_limit[q]), float(model.upper_limit[q])
        reach = 3.15 if body.joint.angles else 1.0
        low, high = (low, high) if isfinite(low) and isfinite(high) and low < high else (-reach, reach)
        joints.append({"name": one_line(body.joint_name), "q": int(q), "low": low, "high": high})
    return joints
