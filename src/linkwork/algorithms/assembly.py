"""Forward dynamics by assembly of sub-chains, O(log n) steps on O(n) processors, on any tree and with loops.

A part of a mechanism that is not joined to the rest yet answers to what acts on it at few places, its ports: on its
first link (F), on the last link of its path (B), and through every loop that is open (l). With x what acts there,
forces or a loop's λ, and z what follows, accelerations or what the loop misses,

    z = z₀ + M x                                                                M is symmetric, in blocks of six

A branch that hangs on a link answers with a force to the acceleration of that link, its port A. Parts meet pairwise:

    link      W = (I - M_AA)⁻¹,   u = W (t + z_A),   M_FF = M_FB = M_BB = W,   M_Fl = W M_Al,   M_ll += M_lA W M_Al
    joined    Y = K (M_FF + Xᵀ M_BB X) Kᵀ,   r = K (z_F - Xᵀ z_B - c),   B = K M_F (second), -K Xᵀ M_B (first)
    hung      Y = K M_FF Kᵀ,                 r = K (z_F - c),            B = K M_Fl,   B_A = -K Xᵀ
    gathered  M, z of two sets of branches, added up
    closed    Y = M_ll,                      r = z_l,                    B = M_l
    then      M -= Bᵀ Y⁻¹ B,   z₀ -= Bᵀ Y⁻¹ r                                    for what is joined, hung or closed
    back      n or λ = -Y⁻¹ (r + B x),   Kᵀ n to the child, -X Kᵀ n to the parent

and so does the motion of the links, before: X, V over two stretches of a path are X X′, X′ᵀ V + V′. Accelerations are
those of points, as in ``constraint_force``, which has c; so linear velocities matter to loops alone. Which parts meet
is chosen so that on any tree the last ones do after O(log n) steps (``model.assembly``).

Yamane, Nakamura leave parallel computation to future work, and later did it by assembly and disassembly of parts in
link coordinates of this kind, for trees whose links have few joints; Featherstone's divide and conquer (1999) is its
kin. Here a link may have any number of joints: its branches are gathered as inertias, which add up exactly, so that no
link is split. Every link needs an inertia. K, K_J, rotors and gravity are as in ``virtual_work``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.algorithms.answers import SIX, Answer, Gone, Port
from linkwork.algorithms.constraint_force import bias_force, relative_bias
from linkwork.algorithms.reactions import seen
from linkwork.algorithms.tree import Body, BodyForces, Field, JointField, JointValues, KnownTree, Values, fields
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


def assembly(tree: KnownTree, q: JointValues, v: JointValues, tau: JointValues, f_ext: BodyForces) -> tuple[JointField]:
    """q̈, from configuration, velocity, joint forces and the external force on each body."""
    return (assembled(tree, q, v, tau, f_ext)[0],)


def assembly_closed(
    tree: KnownTree,
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
    """The same with loops, and what joints transmit; arguments and results as those of ``closed_chains``."""
    return assembled(tree, q, v, tau, f_ext, (conditions, bias, compliance), frame, judged)


def assembled(
    tree: KnownTree,
    q: JointValues,
    v: JointValues,
    tau: JointValues,
    f_ext: BodyForces,
    held: tuple[Values[Column], Values[Column], Values[Column]] | None = None,
    frame: str = "child",
    judged: bool = False,
) -> tuple[JointField, Field[Force], Field[Column]]:
    """q̈, what joints transmit, and the forces of loops by their holds."""
    parts = _Parts(tree, q, v, tau, f_ext, held, judged)
    parts.turn()
    for level in parts.levels:
        for part in tree.parallel(level):
            parts.assemble(part)
    for level in reversed(parts.levels):
        for part in tree.parallel(level):
            parts.take_apart(part)
    qdd: JointField = tree.field()
    for body in tree.parallel(parts.bodies[1:]):
        qdd[body] = parts.J[body].dot(parts.a[body] - parts.X[body].to_child(parts.a[body.parent]) - parts.c[body])
    return qdd, seen(tree, parts.f, parts.X, frame), parts.found


class _Parts:
    def __init__(
        self,
        tree: KnownTree,
        q: JointValues,
        v: JointValues,
        tau: JointValues,
        f_ext: BodyForces,
        held: Any,
        judged: bool,
    ) -> None:
        self.tree, self.held, self.f_ext, self.judged = tree, held, f_ext, judged
        plan, self.loops = tree.assembly(held is not None)
        self.levels, self.parts = plan.levels, plan.parts
        self.bodies: list[Body] = [tree.world, *tree.outward()]
        self.X: Field[Transform] = tree.field()
        self.K: Field[Wrenches] = tree.field()
        self.J: Field[Wrenches] = tree.field()
        self.over: Field[tuple[Transform, Motion]] = tree.field()
        above, V, moved, c, a = fields(tree, Motion, 5)
        self.f: Field[Force] = tree.field()
        self.above, self.V, self.moved, self.c, self.a = above, V, moved, c, a
        self.answers: Field[Answer] = tree.field()
        self.gone: Field[list[tuple[Port, Gone]]] = tree.field()
        self.x: Field[dict[Port, Column]] = tree.field()
        self.found: Field[Column] = tree.field()
        a[tree.world] = -tree.gravity
        for hold in tree.frames() if held else ():
            self.found[hold] = [0.0] * 6
        for body in tree.parallel(self.bodies[1:]):
            self.X[body] = body.placement * body.joint.transform(q[body])
            S = body.joint.subspace(q[body])
            self.K[body], self.J[body] = S.complement(body.rotor), S.dual()
            moved[body] = S.times(v[body])
            c[body] = body.joint.bias(q[body], v[body])
            self.f[body] = self.J[body].times(tau[body])

    def turn(self) -> None:
        """Velocities and c of all links: how they move is assembled along the paths, and handed back."""
        tree, V = self.tree, self.V
        for level in self.levels:
            for part in tree.parallel(level):
                if part.kind == "link":
                    body = self.bodies[part.body]
                    self.over[part] = self.X[body], self.moved[body]
                elif part.kind == "joined":
                    (X, one), (Z, two) = (self.over[self.parts[k]] for k in part.parts)
                    self.over[part] = X * Z, Z.to_child(one) + two
        for level in reversed(self.levels):
            for part in tree.parallel(level):
                parts = [self.parts[k] for k in part.parts]
                if part.index + 1 == len(self.parts):
                    self.above[part] = Motion.zero()
                if part.kind == "hung":
                    self.above[parts[0]] = self.above[part]
                elif part.kind == "joined":
                    X, moved = self.over[parts[0]]
                    self.above[parts[0]] = self.above[part]
                    self.above[parts[1]] = X.to_child(self.above[part]) + moved
                elif part.kind == "link":
                    body, above = self.bodies[part.body], self.above[part]
                    V[body] = self.X[body].to_child(above) + self.moved[body]
                    self.c[body] = self.c[body] + relative_bias(self.X[body], above.angular, self.moved[body])
                    for branches in parts:
                        self.above[branches] = V[body]
                else:
                    for branches in parts:
                        self.above[branches] = self.above[part]

    def assemble(self, part: Any) -> None:
        parts = [self.parts[k] for k in part.parts]
        gone: list[tuple[Port, Gone]] = []
        answer: Answer = getattr(self, f"_{part.kind}")(part, parts, gone)
        for loop in part.closed:
            others = [port for port in answer.z if port != loop]
            blocks = {port: answer.block(loop, port) for port in others}
            B = {port: transposed(block) for port, block in blocks.items() if block is not None}
            alone = answer.alone.pop(loop)
            own = Gone(answer.M.pop((loop, loop)), B, answer.z.pop(loop), alone if self.judged else ())
            answer.M = {pair: block for pair, block in answer.M.items() if loop not in pair}
            answer.eliminate(own)
            gone.append((loop, own))
        self.answers[part], self.gone[part] = answer, gone

    def _link(self, part: Any, parts: Sequence[Any], gone: Any) -> Answer:
        body = self.bodies[part.body]
        carried = Answer({CARRIER: [0.0] * 6}, {})
        for branches in parts:
            carried.add(self.answers[branches])
        for hold in part.holds:
            C, bias, compliance = (values[self.loops[hold].frame] for values in self.held)
            loop = self.loops[hold].loop
            wrenches = [Force.from_numbers(C[6 * i : 6 * i + 6]) for i in SIX]
            own = RigidMobility.of_inertia(body.inertia)
            alone = [(own * wrench).dot(wrench) + x for wrench, x in zip(wrenches, compliance, strict=True)]
            carried.alone[loop] = plus(carried.alone[loop], alone) if loop in carried.alone else alone
            V = self.V[body]  # accelerations are those of points here, and not spatial ones
            swung = Motion(V.angular.cross(V.linear), Vec3.zero())
            missed = [x - swung.dot(wrench) for x, wrench in zip(bias, wrenches, strict=True)]
            carried.z[loop] = plus(carried.z[loop], missed) if loop in carried.z else missed
            carried.put(loop, loop, [[compliance[i] if i == j else 0.0 for j in SIX] for i in SIX])
            carried.put(loop, CARRIER, [wrench.numbers() for wrench in wrenches])
        branched = carried.block(CARRIER, CARRIER)
        if branched is None:
            W = RigidMobility.of_inertia(body.inertia).full()
        else:
            more = ArticulatedInertia.from_rows([[-x for x in row] for row in branched])
            W = Mobility.of_inertia(body.inertia.articulated() + more)
        rows = [column.numbers() for column in W.columns()]
        t = self.f[body] + self.f_ext[body] - bias_force(body.inertia, self.V[body].angular)
        if part.on:
            after = self.bodies[part.on]
            t = t - self.X[after].to_parent(self.f[after])
        u = applied(rows, plus(t.numbers(), carried.z[CARRIER]))
        answer = Answer({FIRST: u}, {(FIRST, FIRST): rows})
        loops = [port for port in carried.z if port != CARRIER]
        blocks = {loop: carried.block(loop, CARRIER) for loop in loops}
        felt = {loop: block for loop, block in blocks.items() if block is not None}
        given = {loop: [applied(rows, row) for row in block] for loop, block in felt.items()}
        answer.add(carried, loops)
        for k, loop in enumerate(loops):
            if loop in given:
                answer.put(loop, FIRST, given[loop])
                answer.z[loop] = plus(answer.z[loop], applied(felt[loop], u))
                for other in loops[k:]:
                    if other in given:
                        answer.put(loop, other, [[dot(row, column) for column in given[other]] for row in felt[loop]])
        if part.behind:
            answer.z[LAST] = answer.z[FIRST]
            for port in (*loops, FIRST):
                block = answer.block(port, FIRST)
                if block is not None:
                    answer.put(port, LAST, block)
            answer.put(LAST, LAST, rows)
        return answer

    def _joined(self, part: Any, parts: Sequence[Any], gone: Any) -> Answer:
        body = self.bodies[part.on]
        one, two = (self.answers[each] for each in parts)
        K, X = self.K[body], self.X[body]
        before = {port: one.block(LAST, port) for port in one.z}
        behind = {port: two.block(FIRST, port) for port in two.z}
        B: dict[Port, Matrix] = {}
        for port, block in before.items():
            if block is not None and port != LAST:
                B[port] = [K.dot(-X.to_child(Motion.from_numbers(column))) for column in transposed(block)]
        for port, block in behind.items():
            if block is not None and port != FIRST:
                columns = [K.dot(Motion.from_numbers(column)) for column in transposed(block)]
                B[port] = [plus(x, y) for x, y in zip(B[port], columns, strict=True)] if port in B else columns
        _, felt = _mobility(before[LAST]).across(X)
        Y = K.project(_mobility(behind[FIRST]) + felt)
        there, here = Motion.from_numbers(one.z[LAST]), Motion.from_numbers(two.z[FIRST])
        own = Gone(Y, B, K.dot(here - X.to_child(there) - self.c[body]), self._alone(body))
        answer = Answer({}, {})
        answer.add(one, [port for port in one.z if port != LAST])
        answer.add(two, [port for port in two.z if port != FIRST])
        answer.eliminate(own)
        gone.append((FIRST, own))
        return answer

    def _hung(self, part: Any, parts: Sequence[Any], gone: Any) -> Answer:
        body = self.bodies[part.body]
        inside = self.answers[parts[0]]
        K, X = self.K[body], self.X[body]
        B: dict[Port, Matrix] = {CARRIER: [K.dot(-X.to_child(unit)) for unit in _UNITS]}
        for port in inside.z:
            block = inside.block(FIRST, port)
            if block is not None and port != FIRST:
                B[port] = [K.dot(Motion.from_numbers(column)) for column in transposed(block)]
        Y = K.project(_mobility(inside.block(FIRST, FIRST)))
        own = Gone(Y, B, K.dot(Motion.from_numbers(inside.z[FIRST]) - self.c[body]), self._alone(body))
        answer = Answer({CARRIER: (-X.to_parent(self.f[body])).numbers()}, {})
        answer.add(inside, [port for port in inside.z if port != FIRST])
        answer.eliminate(own)
        gone.append((CARRIER, own))
        return answer

    def _alone(self, body: Body) -> list[Scalar]:
        """The diagonal of Y of a joint if nothing else were joined, if that is judged."""
        own = RigidMobility.of_inertia(body.inertia).full()
        return [row[-1] for row in self.K[body].project(own)] if self.judged else []

    def _gathered(self, part: Any, parts: Sequence[Any], gone: Any) -> Answer:
        answer = Answer({CARRIER: [0.0] * 6}, {}) if not parts else Answer({}, {})
        for each in parts:
            answer.add(self.answers[each])
        return answer

    def take_apart(self, part: Any) -> None:
        """From what acts at a part's ports to what acts at those of its own parts."""
        whole = part.index + 1 == len(self.parts)
        x: dict[Port, Column] = {CARRIER: self.a[self.tree.world].numbers()} if whole else dict(self.x[part])
        for port, own in reversed(self.gone[part]):
            if isinstance(port, int):
                x[port] = own.solve(x)
                continue
            body = self.bodies[part.on if port == FIRST else part.body]
            force = self.K[body].times(own.solve(x))
            self.f[body] = self.f[body] + force
            if port == FIRST:
                one, two = (self.parts[k] for k in part.parts)
                self.x[one] = {**x, LAST: (-self.X[body].to_parent(force)).numbers()}
                self.x[two] = {**x, FIRST: force.numbers()}
            else:
                self.x[self.parts[part.parts[0]]] = {**x, FIRST: force.numbers()}
        if part.kind == "link":
            self._move(part, x)
        elif part.kind == "gathered":
            for k in part.parts:
                self.x[self.parts[k]] = x

    def _move(self, part: Any, x: dict[Port, Column]) -> None:
        answer, body = self.answers[part], self.bodies[part.body]
        moved = answer.z[FIRST]
        for port in answer.z:
            block = answer.block(FIRST, port)
            if block is not None:
                moved = plus(moved, applied(block, x[port]))
        self.a[body] = Motion.from_numbers(moved)
        for hold in part.holds:
            self.found[self.loops[hold].frame] = x[self.loops[hold].loop]
        for k in part.parts:
            self.x[self.parts[k]] = {**x, CARRIER: moved}


_UNITS = [Motion.from_numbers([float(i == k) for i in SIX]) for k in SIX]


def _mobility(block: Matrix | None) -> Mobility:
    assert block is not None
    return Mobility.from_columns([Motion.from_numbers(column) for column in transposed(block)])
