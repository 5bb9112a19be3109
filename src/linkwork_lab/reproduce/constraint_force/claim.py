"""The paper's central claim: the earlier algorithm holds for some joints in some coordinates, this one for any.

The original uses h instead of T₁′. Both are run on chains of one kind of joint, in coordinates at the joints and in
world coordinates, with lengths in metres and in millimetres; and on side branches with and without their bias forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import Builder, Model, placement, random_state
from linkwork.algorithms import ALGORITHMS, Algorithm, along
from linkwork.joints import Free, Helical, Joint, Prismatic, Revolute, Universal
from linkwork.spatial import Transform
from linkwork_lab.reproduce.constraint_force.chains import comb
from linkwork_lab.reproduce.parts import Say
from linkwork_lab.reproduce.rounding import interpreted
from linkwork_lab.reproduce.truth import exact, relative_error
from linkwork_lab.studies import ORIGINAL, ORIGINAL_WORLD, without_bias

HINGE, SLIDER, SCREW = Revolute("z"), Prismatic("z"), Helical("z", 0.2)
JOINTS: dict[str, Sequence[Joint]] = {
    "hinges": [HINGE],
    "sliders": [SLIDER],
    "hinges and sliders": [HINGE, SLIDER],
    "universal joints": [Universal("x", "y")],
    "universal joints, axes 60° apart": [Universal("x", (0.5, 3.0**0.5 / 2.0, 0.0))],
    "screws of 0.2 m/rad": [SCREW],
    "hinges, floating base": [HINGE],
    "all of these in turn": [HINGE, SLIDER, SCREW, Universal("x", "y")],
}
"""The joints of each chain, in turn."""
FORMS: dict[str, Algorithm] = {
    "original, at the joints": ORIGINAL,
    "original, in the world": ORIGINAL_WORLD,
    "this, at the joints": ALGORITHMS["constraint_force"],
    "this, in the world": ALGORITHMS["constraint_force_world"],
}
MILLIMETRES = 1000.0

Array = NDArray[np.float64]


def chain(name: str, links: int) -> Model:
    """A chain of links of different shapes, without parallel axes."""
    rng = np.random.default_rng(0)
    builder = Builder(name)
    parent = "world"
    if "floating" in name:
        parent = builder.add_body("base", parent, Free(), mass=2.0, inertia=(0.1, 0.2, 0.15))
    for k in range(links):
        place = placement(rng.uniform(-0.3, 0.3, 3).tolist(), rpy=rng.uniform(-1.0, 1.0, 3).tolist())
        com, inertia = rng.uniform(-0.1, 0.1, 3).tolist(), rng.uniform(0.02, 0.03, 3).tolist()
        joint = JOINTS[name][k % len(JOINTS[name])]
        parent = builder.add_body(
            f"body{k + 1}", parent, joint, place, mass=rng.uniform(0.5, 1.5), com=com, inertia=inertia
        )
    return builder.build()


def in_units(model: Model, scale: float) -> Model:
    """The same mechanism with lengths in another unit."""

    def scaled(body: Any) -> Any:
        m, *rest = body.inertia.numbers()
        inertia = body.inertia.of([m, *(scale * x for x in rest[:3]), *(scale**2 * x for x in rest[3:])])
        place = Transform(body.placement.rotation, body.placement.translation * scale)
        joint = replace(body.joint, pitch=scale * body.joint.pitch) if isinstance(body.joint, Helical) else body.joint
        return replace(body, placement=place, inertia=inertia, joint=joint)

    x, y, z = model.gravity
    gravity = (scale * x, scale * y, scale * z)
    return Model(model.name, tuple(map(scaled, model.bodies)), (), gravity)


def lengths(model: Model) -> tuple[Array, Array]:
    """Which elements of q and of v are lengths."""
    of_q, of_v = [], []
    for body in model.bodies:
        slides = {Free: 3, Prismatic: 1}.get(type(body.joint), 0)
        of_q += [k < slides for k in range(body.joint.nq)]
        of_v += [k < slides for k in range(body.joint.nv)]
    return np.array(of_q), np.array(of_v)


def claimed(links: int, say: Say) -> dict[str, Any]:
    """For each kind of chain and each form: the error against 50 digits in metres and in millimetres."""
    errors: dict[str, Any] = {"links": links, "joints": list(JOINTS), "m": {}, "mm": {}, "units": {}}
    for name in JOINTS:
        say(f"the original and this: {name}")
        model = chain(name, links)
        (q, v, tau), truth = _state(model, 1)
        of_q, of_v = lengths(model)
        k = MILLIMETRES
        scaled = np.where(of_q, k, 1.0) * q, np.where(of_v, k, 1.0) * v, np.where(of_v, k, k * k) * tau
        for form, algorithm in FORMS.items():
            plain = interpreted(algorithm, model)(q, v, tau)
            other = interpreted(algorithm, in_units(model, k))(*scaled) / np.where(of_v, k, 1.0)
            for unit, result in (("m", plain), ("mm", other)):
                errors[unit].setdefault(form, []).append(relative_error(result.tolist(), truth))
            errors["units"].setdefault(form, []).append(float(np.abs(other - plain).max() / np.abs(plain).max()))
    return errors


def unbiased(sizes: Sequence[int], say: Say) -> dict[str, Any]:
    """Chains with side branches: errors against 50 digits with the branches' bias forces, and without."""
    errors: dict[str, Any] = {"links": list(sizes), "with": [], "without": []}
    for n in sizes:
        say(f"side branches with and without their bias: {n} links")
        model = comb(n)
        state, truth = _state(model, 0)
        for what, algorithm in (("with", along("constraint_force_world", n)), ("without", without_bias(n))):
            errors[what].append(relative_error(interpreted(algorithm, model)(*state).tolist(), truth))
    return errors


def _state(model: Model, seed: int) -> tuple[tuple[Array, Array, Array], list[Any]]:
    """A random state with joint forces, and its accelerations with 50 digits."""
    rng = np.random.default_rng(seed)
    q, v = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    (truth,) = exact(ALGORITHMS["articulated_body"], model, [q, v, tau, None])
    return (q, v, tau), truth
