"""Forward dynamics by assembly of sub-chains, O(log n) steps on O(n) processors, on any tree and with loops.

A part of a mechanism that is not joined to the rest yet responds to forces at a few places, its ports: on links whose
joints to their parents are open (F), on parents of links whose joints to them are open (B), and through every loop that
is open (l). With x the forces there, wrenches or a loop's λ, and z the response, accelerations or a loop's residual,

    z = z₀ + M x                                                                M is symmetric, in blocks of six

A branch that hangs on a link responds with a force to the acceleration of that link, its port A. Parts meet pairwise,
at any number of joints (none, if they are side by side) and loops:

    link      W = (I - M_AA)⁻¹,   u = W (t + z_A),   M_FF = M_FB = M_BB = W,   M_Fl = W M_Al,   M_ll += M_lA W M_Al
    joined    M, z of both; for each joint, F and B become its residual n:
              M_nn = K (M_FF + Xᵀ M_BB X) Kᵀ,   z_n = K (z_F - Xᵀ z_B - c),   M_n = K M_F - K Xᵀ M_B
    hung      M_nn = K M_FF Kᵀ,                 z_n = K (z_F - c),            M_n = K M_F,   M_nA = -K Xᵀ
    gathered  M, z of two sets of branches, added up
    closed    Y = M_nn or M_ll,   r = z,   B = M_n or M_l                          for each joint, then each loop
    then      M -= Bᵀ Y⁻¹ B,   z₀ -= Bᵀ Y⁻¹ r
    back      n or λ = -Y⁻¹ (r + B x),   Kᵀ n to the child, -X Kᵀ n to the parent

A path that many loops connect with another is assembled together with it (``model.assembly``), so that these loops are
closed where they are: on a rope ladder a part is a stretch of both ropes, with four ports.

The motion of the links is assembled beforehand in the same way: X, V over two stretches of a path are X X′, X′ᵀ V + V′.
Accelerations are those of points, as in ``constraint_force``, which defines c; so linear velocities matter to loops
alone. Parts meet in an order in which on any tree the last ones do so after O(log n) steps. A bare link, without
branches, is recomputed where it is needed, which takes less time than storing its response.

Yamane, Nakamura leave parallel computation to future work, and later did it by assembly and disassembly of parts in
link coordinates of this kind, for links with few joints; Featherstone's divide-and-conquer algorithm (1999) is related.
Here a link has any number of joints: its branches are gathered as inertias, which add up exactly, so no link is split.
Every link needs an inertia. K, K_J, rotors and gravity are as in ``virtual_work``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.algorithms.answers import SIX, Answer, Gone, Kept, Port, mirrored
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

FIRST, LAST, JOINT, CARRIER = "F", "B", "n", "A"
Held = tuple[Values[Column], Values[Column], Values[Column]]
"""For the holds of loops: conditions, bias and compliance."""
Over = tuple[Transform, Motion]


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
        self.over: Field[list[Over]] = tree.field()
        """For each exit, the placement of the link before it in the one that carries the entry, and the velocity."""
        self.above: Field[list[Motion]] = tree.field()
        """V of the links that carry the part, one for each entry."""
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
        tree = self.tree
        for level in tree.levels():
            for part in tree.parallel(level):
                if part.exits:
                    self.over[part] = self._over_links(part)
        for level in tree.levels_back():
            for part in tree.parallel(level):
                self._turn(part, [Motion.zero()] if part.whole else self.above[part])

    def _over_links(self, part: Part) -> list[Over]:
        if part.made == "link":
            return [(self.X[part.body], self.moved[part.body])] * len(part.exits)
        one, two = map(self._over, part.parts)
        met = {joint.number for joint in part.joints}
        over = [one[exit.joint] for exit in part.parts[0].exits if exit.joint not in met]
        for exit in part.parts[1].exits:
            Z, more = two[exit.joint]
            if exit.entry in met:
                X, moved = one[exit.entry]
                Z, more = X * Z, Z.to_child(moved) + more
            over.append((Z, more))
        return over

    def _over(self, part: Part) -> dict[int, Over]:
        over = (self._over_links(part) if part.bare else self.over[part]) if part.exits else []
        return {exit.joint: each for exit, each in zip(part.exits, over, strict=True)}

    def _turn(self, part: Part, above: list[Motion]) -> None:
        """From V of the links that carry a part to V of those that carry its own parts; V and c of a link."""
        carried = [above for _ in part.parts]
        if part.made == "hung":
            carried = [above * len(part.joints)]
        elif part.made == "joined":
            one, two = part.parts
            at, over = dict(zip(part.entries, above, strict=True)), self._over(one)
            carried = [[at[entry] for entry in one.entries], []]
            from_entry = {exit.joint: exit.entry for exit in one.exits}
            for entry in two.entries:
                if entry in at:
                    carried[1].append(at[entry])
                else:
                    X, moved = over[entry]
                    carried[1].append(X.to_child(at[from_entry[entry]]) + moved)
        elif part.made == "link":
            body = part.body
            X, moved = self.X[body], self.moved[body]
            V = self.V[body] = X.to_child(above[0]) + moved
            self.c[body] = self.Sdot_v[body] + relative_bias(X, above[0].angular, moved)
            carried = [[V] for _ in part.parts]
        for each, motions in zip(part.parts, carried, strict=True):
            if each.bare:
                self._turn(each, motions)
            else:
                self.above[each] = motions

    def assemble(self, part: Part) -> None:
        answer: Answer = getattr(self, f"_{part.made}")(part)
        gone: list[Gone] = []
        ends, unknowns = _ports(part, part.open), _unknowns(part)
        for k, unknown in enumerate(unknowns):
            ports = [*ends, *unknowns[:k:-1]]
            alone = answer.alone.pop(unknown)
            B = [answer.block(port, unknown) or [] for port in ports]
            own = Gone.of_system(answer.M[unknown, unknown], B, answer.z[unknown], alone if self.judged else ())
            answer.eliminate(own, ports)
            gone.append(own)
        self.answers[part], self.gone[part] = answer.kept(ends), gone

    def _answer(self, part: Part) -> Answer:
        return self._link(part) if part.bare else Answer.of(self.answers[part], _ports(part, part.open))

    def _link(self, part: Part) -> Answer:
        body, loops, first = part.body, part.loops, (FIRST, part.entries[0])
        carried = self._carried(part)
        rows = _link_mobility(body, carried.block(CARRIER, CARRIER))
        t = self.driven[body] + self.f_ext[body] - bias_force(body.inertia, self.V[body].angular)
        for joint in part.joints:
            t = t - self.X[joint.body].to_parent(self.driven[joint.body])
        u = applied(rows, plus(t.numbers(), carried.z[CARRIER]))
        answer = Answer({first: u}, {(first, first): rows})
        felt = {loop: carried.block(loop, CARRIER) or _NOTHING for loop in loops}
        given = {loop: [applied(rows, row) for row in felt[loop]] for loop in loops}
        answer.add(carried, loops)
        for k, loop in enumerate(loops):
            answer.put(loop, first, given[loop])
            answer.z[loop] = plus(answer.z[loop], applied(felt[loop], u))
            for other in loops[k:]:
                answer.put(loop, other, [[dot(row, column) for column in given[other]] for row in felt[loop]])
        ends = [(LAST, exit.joint) for exit in part.exits]
        for k, last in enumerate(ends):
            answer.z[last] = u
            answer.M |= {(port, last): rows for port in (first, *ends[: k + 1])}
            for loop in loops:
                answer.put(loop, last, given[loop])
        return answer

    def _carried(self, part: Part) -> Answer:
        """The response of a link's branches and holds to its motion."""
        carried = Answer({CARRIER: [0.0] * 6}, {})
        for branches in part.parts:
            carried.add(self._answer(branches))
        for hold in part.holds:
            self._hold(part.body, hold, carried)
        return carried

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

    def _joined(self, part: Part) -> Answer:
        answer, other = map(self._answer, part.parts)
        answer.add(other)
        for joint in part.joints:
            self._meet(answer, joint, (LAST, joint.number))
        return answer

    def _hung(self, part: Part) -> Answer:
        answer = self._answer(part.parts[0])
        for joint in part.joints:
            felt = (-self.X[joint.body].to_parent(self.driven[joint.body])).numbers()
            answer.z[CARRIER] = plus(answer.z[CARRIER], felt) if CARRIER in answer.z else felt
            self._meet(answer, joint, None)
        return answer

    def _meet(self, answer: Answer, joint: Any, last: Port | None) -> None:
        """A joint's residual instead of its two ports; a link that carries branches moves as it is told."""
        body, residual, first = joint.body, (JOINT, joint.number), (FIRST, joint.number)
        K, X = self.K[body], self.X[body]
        W, a = Mobility.from_columns(_motions(answer.block(first, first))), Motion.from_numbers(answer.z[first])
        if last is not None:
            _, felt = Mobility.from_columns(_motions(answer.block(last, last))).across(X)
            W, a = W + felt, a - X.to_child(Motion.from_numbers(answer.z[last]))
        B: dict[Port, Matrix] = {CARRIER: [K.dot(-X.to_child(unit)) for unit in _UNITS]} if last is None else {}
        for port in answer.z:
            if port not in (first, last, CARRIER):
                there = _motions(answer.block(last, port)) if last is not None else []
                columns = [K.dot(-X.to_child(motion)) for motion in there]
                more = [K.dot(motion) for motion in _motions(answer.block(first, port))]
                B[port] = (
                    [plus(x, y) for x, y in zip(columns, more, strict=True)] if columns and more else columns or more
                )
        answer.drop(first)
        answer.drop(last)
        answer.z[residual], answer.M[residual, residual] = K.dot(a - self.c[body]), mirrored(K.project(W))
        answer.alone[residual] = self._alone(body)
        for port, columns in B.items():
            if columns:
                answer.put(port, residual, columns)

    def _alone(self, body: Body) -> list[Scalar]:
        """The diagonal of Y of a joint before anything else is joined, if pivots are judged by it."""
        own = RigidMobility.of_inertia(body.inertia).full()
        return [row[-1] for row in self.K[body].project(own)] if self.judged else []

    def _gathered(self, part: Part) -> Answer:
        answer = Answer({CARRIER: [0.0] * 6}, {}) if not part.parts else Answer({}, {})
        for each in part.parts:
            answer.add(self._answer(each))
        return answer

    def take_apart(self, part: Part) -> None:
        """From the forces at a part's ports to those at the ports of its own parts."""
        acting = [self.a[self.tree.world].numbers()] if part.whole else self.x[part]
        ends, unknowns = _ports(part, part.open), _unknowns(part)
        x: dict[Port, Column] = dict(zip(ends, acting, strict=True))
        for k in reversed(range(len(unknowns))):
            x[unknowns[k]] = self.gone[part][k].solve([*ends, *unknowns[:k:-1]], x)
        if part.made == "link":
            self._move(part, x)
            return
        for joint in part.joints:
            body = joint.body
            force = self.K[body].times(x[JOINT, joint.number])
            self.f[body] = self.driven[body] + force
            x[FIRST, joint.number] = force.numbers()
            if part.made == "joined":
                x[LAST, joint.number] = (-self.X[body].to_parent(force)).numbers()
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
        first = (FIRST, part.entries[0])
        moved = answer.z[first]
        for port in answer.z:
            moved = plus(moved, applied(answer.block(first, port) or _NOTHING, x[port]))
        self.a[part.body] = Motion.from_numbers(moved)
        for hold in part.holds:
            self.found[hold.frame] = x[hold.loop]
        for each in part.parts:
            self._act(each, {**x, CARRIER: moved})


_UNITS = [Motion.from_numbers([float(i == k) for i in SIX]) for k in SIX]
_NOTHING = [[0.0] * 6 for _ in SIX]


def _unknowns(part: Part) -> list[Port]:
    """What is eliminated in a part: the residuals of its joints and then its loops."""
    joints = [] if part.made == "link" else part.joints
    return [*((JOINT, joint.number) for joint in joints), *part.closed]


def _ports(part: Part, loops: Sequence[int]) -> list[Port]:
    """The ports of a part while these loops are open."""
    ends = [(LAST, exit.joint) for exit in part.exits]
    return [*([(FIRST, entry) for entry in part.entries] if part.path else [CARRIER]), *loops, *ends]


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
