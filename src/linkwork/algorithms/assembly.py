"""Forward dynamics by assembly of sub-chains, O(log n) steps on O(n) processors, on any tree and with loops.

A part of a mechanism that is not joined to the rest yet responds to forces at a few places, its ports: on its
first link (F), on the last link of its path (B), and through every loop that is open (l). With x the forces there,
wrenches or a loop's λ, and z the response, accelerations or a loop's residual,

    z = z₀ + M x                                                                M is symmetric, in blocks of six

A branch that hangs on a link responds with a force to the acceleration of that link, its port A. Parts meet pairwise:

    link      W = (I - M_AA)⁻¹,   u = W (t + z_A),   M_FF = M_FB = M_BB = W,   M_Fl = W M_Al,   M_ll += M_lA W M_Al
    joined    Y = K (M_FF + Xᵀ M_BB X) Kᵀ,   r = K (z_F - Xᵀ z_B - c),   B = K M_F (second), -K Xᵀ M_B (first)
    hung      Y = K M_FF Kᵀ,                 r = K (z_F - c),            B = K M_Fl,   B_A = -K Xᵀ
    gathered  M, z of two sets of branches, added up
    closed    Y = M_ll,                      r = z_l,                    B = M_l
    then      M -= Bᵀ Y⁻¹ B,   z₀ -= Bᵀ Y⁻¹ r                                    for joined, hung and closed
    back      n or λ = -Y⁻¹ (r + B x),   Kᵀ n to the child, -X Kᵀ n to the parent

The motion of the links is assembled beforehand in the same way: X, V over two stretches of a path are X X′, X′ᵀ V + V′.
Accelerations are those of points, as in ``constraint_force``, which defines c; so linear velocities matter to loops
alone. The order in which parts meet is chosen so that on any tree the last ones meet after O(log n) steps
(``model.assembly``). A bare link, without branches, is recomputed where it is needed: that takes less time than storing
its response.

Yamane, Nakamura leave parallel computation to future work, and later did it by assembly and disassembly of parts in
link coordinates of this kind, for trees whose links have few joints; Featherstone's divide-and-conquer algorithm (1999)
is related. Here a link may have any number of joints: its branches are gathered as inertias, which add up exactly, so
that no link is split. Every link needs an inertia. K, K_J, rotors and gravity are as in ``virtual_work``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.algorithms.answers import SIX, Answer, Gone, Kept, Port
from linkwork.algorithms.assembled_tree import AssembledTree, Part
from linkwork.algorithms.constraint_force import bias_force, relative_bias
from linkwork.algorithms.reactions import seen
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, Values, fields
from linkwork.spatial import (
    ArticulatedInertia,
    Force,
    Mobility,
    Motion,
    RigidMobility,
    Scalar,
    Transform,
    Vec3,
    Wrenches,
)
from linkwork.spatial.matrices import Column, Matrix, applied, dot, plus, transposed

FIRST, LAST, CARRIER = "F", "B", "A"
Held = tuple[Values[Column], Values[Column], Values[Column]]
"""For the holds of loops: conditions, bias and compliance."""


def assembly(
    tree: AssembledTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces
) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    return (assembled(tree, q, v, tau, f_ext)[0],)


def assembly_closed(
    tree: AssembledTree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    f_ext: BodyForces,
    conditions: Values[Column],
    bias: Values[Column],
    compliance: Values[Column],
    frame: str = "child",
    judged: bool = True,
) -> tuple[JointField, Field[Force], Field[Column]]:
    """The same with loops, and the wrenches that joints transmit; arguments and results as in ``closed_chains``."""
    return assembled(tree, q, v, tau, f_ext, (conditions, bias, compliance), frame, judged)


def assembled(
    tree: AssembledTree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    f_ext: BodyForces,
    held: Held | None = None,
    frame: str = "child",
    judged: bool = False,
) -> tuple[JointField, Field[Force], Field[Column]]:
    """q̈, the wrenches that joints transmit, and the forces of loops at their holds."""
    parts = _Parts(tree, q, v, tau, f_ext, held, judged)
    parts.turn()
    for level in tree.levels():
        for part in tree.parallel(level):
            parts.assemble(part)
    for level in tree.levels_back():
        for part in tree.parallel(level):
            parts.take_apart(part)
    qdd: JointField = tree.field()
    for body in tree.parallel(tree.all_bodies()):
        qdd[body] = parts.J[body].dot(parts.a[body] - parts.X[body].to_child(parts.a[body.parent]) - parts.c[body])
    return qdd, seen(tree, parts.f, parts.X, frame), parts.found


class _Parts:
    def __init__(
        self,
        tree: AssembledTree,
        q: JointValues,
        v: JointValues,
        tau: JointValues,
        f_ext: BodyForces,
        held: Held | None,
        judged: bool,
    ) -> None:
        self.tree, self.held, self.f_ext, self.judged = tree, held, f_ext, judged

        # At links
        self.X: Field[Transform] = tree.field()
        self.K: Field[Wrenches] = tree.field()
        self.J: Field[Wrenches] = tree.field()
        self.V, self.moved, self.Sdot_v, self.c, self.a = fields(tree, Motion, 5)
        self.driven, self.f = fields(tree, Force, 2)
        """K_Jᵀ τ, and later, with the constraint force, the wrench that a joint transmits."""
        self.found: Field[Column] = tree.field()
        """At holds, λ of their loops."""

        # At parts
        self.over: Field[tuple[Transform, Motion]] = tree.field()
        """Placement of the last link of a path in the parent of its first, and its velocity relative to it."""
        self.above: Field[Motion] = tree.field()
        """V of the link that carries the part."""
        self.answers: Field[Kept] = tree.field()
        self.gone: Field[list[Gone]] = tree.field()
        self.x: Field[list[Column]] = tree.field()

        self.a[tree.world] = -tree.gravity
        for hold in tree.frames() if held else ():
            self.found[hold] = [0.0] * 6
        for body in tree.parallel(tree.all_bodies()):
            self.X[body] = body.placement * body.joint.transform(q[body])
            S = body.joint.subspace(q[body])
            self.K[body], self.J[body] = S.complement(body.rotor), S.dual()
            self.moved[body] = S.times(v[body])
            self.Sdot_v[body] = body.joint.bias(q[body], v[body])
            self.driven[body] = self.J[body].times(tau[body])

    def turn(self) -> None:
        """Velocities and c of all links: motions are assembled along the paths, and handed back."""
        tree, over, above = self.tree, self.over, self.above
        for level in tree.levels():
            for part in tree.parallel(level):
                if part.made == "link":
                    over[part] = self.X[part.body], self.moved[part.body]
                elif part.made == "joined":
                    (X, one), (Z, two) = map(self._over, part.parts)
                    over[part] = X * Z, Z.to_child(one) + two
        for level in tree.levels_back():
            for part in tree.parallel(level):
                self._turn(part, Motion.zero() if part.whole else above[part])

    def _over(self, part: Part) -> tuple[Transform, Motion]:
        return (self.X[part.body], self.moved[part.body]) if part.bare else self.over[part]

    def _turn(self, part: Part, above: Motion) -> None:
        """From V of the link that carries a part to V of those that carry its own parts; V and c of a link."""
        carried = [above for _ in part.parts]
        if part.made == "joined":
            X, moved = self._over(part.parts[0])
            carried[1] = X.to_child(above) + moved
        elif part.made == "link":
            body = part.body
            X, moved = self.X[body], self.moved[body]
            V = self.V[body] = X.to_child(above) + moved
            self.c[body] = self.Sdot_v[body] + relative_bias(X, above.angular, moved)
            carried = [V for _ in part.parts]
        for each, V in zip(part.parts, carried, strict=True):
            if each.bare:
                self._turn(each, V)
            else:
                self.above[each] = V

    def assemble(self, part: Part) -> None:
        gone: list[Gone] = []
        answer: Answer = getattr(self, f"_{part.made}")(part, gone)
        ports = _ports(part, part.loops)
        for loop in part.closed:
            ports.remove(loop)
            blocks = [answer.block(loop, port) for port in ports]
            B = [transposed(block) if block else _NOTHING for block in blocks]
            alone = answer.alone.pop(loop)
            own = Gone.of_system(answer.M[loop, loop], B, answer.z[loop], alone if self.judged else ())
            answer.eliminate(own, ports)
            gone.append(own)
        self.answers[part], self.gone[part] = answer.kept(ports), gone

    def _answer(self, part: Part) -> Answer:
        return self._link(part) if part.bare else Answer.of(self.answers[part], _ports(part, part.open))

    def _link(self, part: Part, gone: Sequence[Gone] = ()) -> Answer:
        body, loops = part.body, part.loops
        carried = Answer({CARRIER: [0.0] * 6}, {})
        for branches in part.parts:
            carried.add(self._answer(branches))
        for hold in part.holds:
            self._hold(body, hold, carried)
        rows = _link_mobility(body, carried.block(CARRIER, CARRIER))
        t = self.driven[body] + self.f_ext[body] - bias_force(body.inertia, self.V[body].angular)
        if part.on is not None:
            t = t - self.X[part.on].to_parent(self.driven[part.on])
        u = applied(rows, plus(t.numbers(), carried.z[CARRIER]))
        answer = Answer({FIRST: u}, {(FIRST, FIRST): rows})
        felt = {loop: carried.block(loop, CARRIER) or _NOTHING for loop in loops}
        given = {loop: [applied(rows, row) for row in felt[loop]] for loop in loops}
        answer.add(carried, loops)
        for k, loop in enumerate(loops):
            answer.put(loop, FIRST, given[loop])
            answer.z[loop] = plus(answer.z[loop], applied(felt[loop], u))
            for other in loops[k:]:
                answer.put(loop, other, [[dot(row, column) for column in given[other]] for row in felt[loop]])
        if part.behind:
            answer.z[LAST] = u
            for loop in loops:
                answer.put(loop, LAST, given[loop])
            answer.M[FIRST, LAST] = answer.M[LAST, LAST] = rows
        return answer

    def _hold(self, body: Body, hold: Any, carried: Answer) -> None:
        """Add a loop's hold on a link to the response of the link's branches."""
        assert self.held is not None
        C, bias, compliance = (values[hold.frame] for values in self.held)
        loop = hold.loop
        wrenches = [Force.from_numbers(C[6 * i : 6 * i + 6]) for i in SIX]
        own = RigidMobility.of_inertia(body.inertia)
        alone = [(own * wrench).dot(wrench) + x for wrench, x in zip(wrenches, compliance, strict=True)]
        carried.alone[loop] = plus(carried.alone[loop], alone) if loop in carried.alone else alone
        V = self.V[body]  # accelerations are those of points here, not spatial ones
        swung = Motion(V.angular.cross(V.linear), Vec3.zero())
        missed = [x - swung.dot(wrench) for x, wrench in zip(bias, wrenches, strict=True)]
        carried.z[loop] = plus(carried.z[loop], missed) if loop in carried.z else missed
        carried.put(loop, loop, [[compliance[i] if i == j else 0.0 for j in SIX] for i in SIX])
        carried.put(loop, CARRIER, [wrench.numbers() for wrench in wrenches])

    def _joined(self, part: Part, gone: list[Gone]) -> Answer:
        assert part.on is not None
        body, (one, two) = part.on, map(self._answer, part.parts)
        K, X, c = self.K[body], self.X[body], self.c[body]
        before, behind = ({port: each.block(end, port) for port in each.z} for each, end in ((one, LAST), (two, FIRST)))
        _, felt = _mobility(before.pop(LAST)).across(X)
        Y = K.project(_mobility(behind.pop(FIRST)) + felt)
        ports = _ports(part, part.loops)
        B: list[Matrix] = []
        for port in ports:
            columns = [K.dot(-X.to_child(motion)) for motion in _motions(before.get(port))]
            more = [K.dot(motion) for motion in _motions(behind.get(port))]
            B.append([plus(x, y) for x, y in zip(columns, more, strict=True)] if columns and more else columns or more)
        there, here = Motion.from_numbers(one.z[LAST]), Motion.from_numbers(two.z[FIRST])
        own = Gone.of_system(Y, B, K.dot(here - X.to_child(there) - c), self._alone(body))
        answer = Answer({}, {})
        answer.add(one, [port for port in one.z if port != LAST])
        answer.add(two, [port for port in two.z if port != FIRST])
        answer.eliminate(own, ports)
        gone.append(own)
        return answer

    def _hung(self, part: Part, gone: list[Gone]) -> Answer:
        body, inside = part.body, self._answer(part.parts[0])
        K, X = self.K[body], self.X[body]
        B: list[Matrix] = [[K.dot(-X.to_child(unit)) for unit in _UNITS]]
        for loop in part.loops:
            B.append([K.dot(motion) for motion in _motions(inside.block(FIRST, loop))])
        Y = K.project(_mobility(inside.block(FIRST, FIRST)))
        r = K.dot(Motion.from_numbers(inside.z[FIRST]) - self.c[body])
        own = Gone.of_system(Y, B, r, self._alone(body))
        answer = Answer({CARRIER: (-X.to_parent(self.driven[body])).numbers()}, {})
        answer.add(inside, [port for port in inside.z if port != FIRST])
        answer.eliminate(own, [CARRIER, *part.loops])
        gone.append(own)
        return answer

    def _alone(self, body: Body) -> list[Scalar]:
        """The diagonal of Y of a joint before anything else is joined, if pivots are judged by it."""
        own = RigidMobility.of_inertia(body.inertia).full()
        return [row[-1] for row in self.K[body].project(own)] if self.judged else []

    def _gathered(self, part: Part, gone: list[Gone]) -> Answer:
        answer = Answer({CARRIER: [0.0] * 6}, {}) if not part.parts else Answer({}, {})
        for each in part.parts:
            answer.add(self._answer(each))
        return answer

    def take_apart(self, part: Part) -> None:
        """From the forces at a part's ports to those at the ports of its own parts."""
        acting = [self.a[self.tree.world].numbers()] if part.whole else self.x[part]
        ports = _ports(part, part.open)
        x: dict[Port, Column] = dict(zip(ports, acting, strict=True))
        joint, gone = part.made in ("joined", "hung"), self.gone[part]
        for k, (loop, own) in reversed(list(enumerate(zip(part.closed, gone[joint:], strict=True)))):
            x[loop] = own.solve(_ports(part, [each for each in part.loops if each not in part.closed[: k + 1]]), x)
        if joint:
            body = part.body if part.made == "hung" else part.on
            assert body is not None
            force = self.K[body].times(gone[0].solve(_ports(part, part.loops), x))
            self.f[body] = self.driven[body] + force
            if part.made == "hung":
                self._act(part.parts[0], {**x, FIRST: force.numbers()})
            else:
                self._act(part.parts[0], {**x, LAST: (-self.X[body].to_parent(force)).numbers()})
                self._act(part.parts[1], {**x, FIRST: force.numbers()})
        elif part.made == "link":
            self._move(part, x)
        else:
            for each in part.parts:
                self._act(each, x)

    def _act(self, part: Part, x: dict[Port, Column]) -> None:
        """Store the forces at the ports of a part; a bare link is accelerated at once."""
        if part.bare:
            self._move(part, x)
        else:
            self.x[part] = [x[port] for port in _ports(part, part.open)]

    def _move(self, part: Part, x: dict[Port, Column]) -> None:
        answer = self._answer(part)
        moved = answer.z[FIRST]
        for port in answer.z:
            moved = plus(moved, applied(answer.block(FIRST, port) or _NOTHING, x[port]))
        self.a[part.body] = Motion.from_numbers(moved)
        for hold in part.holds:
            self.found[hold.frame] = x[hold.loop]
        for each in part.parts:
            self._act(each, {**x, CARRIER: moved})


_UNITS = [Motion.from_numbers([float(i == k) for i in SIX]) for k in SIX]
_NOTHING = [[0.0] * 6 for _ in SIX]


def _ports(part: Part, loops: Sequence[int]) -> list[Port]:
    """The ports of a part while these loops are open."""
    return [FIRST if part.path else CARRIER, *loops, *([LAST] if part.behind else [])]


def _mobility(block: Matrix | None) -> Mobility:
    return Mobility.from_columns(_motions(block))


def _motions(block: Matrix | None) -> list[Motion]:
    """The columns of a block; none, if it is absent."""
    return [Motion.from_numbers(column) for column in transposed(block)] if block else []


def _link_mobility(body: Body, branched: Matrix | None) -> Matrix:
    """W of a link, with the branches on it, whose block is -Iᴬ."""
    if branched is None:
        W = RigidMobility.of_inertia(body.inertia).full()
    else:
        more = ArticulatedInertia.from_rows([[-x for x in row] for row in branched])
        W = Mobility.of_inertia(body.inertia.articulated() + more)
    return [column.numbers() for column in W.columns()]
