"""A view: the page's controls with their callbacks, and the display of a running simulation."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import perf_counter, sleep
from typing import Any

import numpy as np

from linkwork.dynamics.arguments import Array
from linkwork.dynamics.kinematics import integrate, neutral
from linkwork.errors import ArgumentError
from linkwork.model.all_contacts import Contacts
from linkwork.model.constraints import Constraint
from linkwork.model.contacts import Plane
from linkwork.model.model import WORLD, Model
from linkwork.plain import one_line
from linkwork.simulation.trajectory import ARRAYS, Trajectory
from linkwork.simulation.watching import Snapshot
from linkwork.viewer.browser.actor import LAYERS, Actor, sliders_of
from linkwork.viewer.browser.clock import Clock
from linkwork.viewer.browser.pulling import Pull
from linkwork.viewer.browser.server import LOOPBACK, stop
from linkwork.viewer.forces import FORCES, Forces, newton_length
from linkwork.viewer.motions import Motion, last_event
from linkwork.viewer.skeleton import matrix

_RATE = 30.0  # frames per second
_MOST_SLIDERS = 80
_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


class View:
    """A page in the browser that shows mechanisms and motions; ``lw.show`` makes one.

    It is served to this machine only and ends with the process, or with ``close``.

    Attributes:
        url: the address to open.
    """

    def __init__(
        self,
        server: Any,
        motions: list[Motion],
        actors: list[Actor],
        shapes: str,
        forces: list[Forces],
    ) -> None:
        self._server, self._motions, self._actors, self._acting = server, motions, actors, forces
        self.url = f"http://{LOOPBACK}:{server.get_port()}"
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._clock = Clock(min(motion.span[0] for motion in motions), max(motion.span[1] for motion in motions))
        self._pull = Pull(actors[0].model, actors[0].looks.skeleton)
        self._live: Forces | None = None
        """The forces of a running simulation."""
        self._hand = np.zeros((0, 6))
        self._ending = False
        self._began = self._shown_at = 0.0
        self._boxes: dict[str, Any] = {}
        self._event: Any = None
        for actor, motion in zip(actors, motions, strict=True):
            actor.wear(shapes)
            actor.move(motion.q)
        self._controls(shapes)
        self._grips()
        self._thread = threading.Thread(target=self._play, name="linkwork view", daemon=True)
        self._thread.start()

    # The page

    def _controls(self, shapes: str) -> None:
        gui = self._server.gui
        if self._clock.last > self._clock.first:
            with gui.add_folder("Time"):
                self._playing = gui.add_checkbox("play", True)
                step = 1.0 / _RATE
                first, last = self._clock.first, self._clock.last
                self._time = gui.add_slider("t (s)", first, last, min(step, last - first), first)
                self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1")
                steps = gui.add_button_group("step", ("back", "on"))
                if any(motion.events for motion in self._motions):
                    self._event = gui.add_text("event", "", disabled=True)
            self._playing.on_update(lambda event: self._go_on(event, self._playing.value))
            self._speed.on_update(lambda _: self._faster(float(self._speed.value)))
            self._time.on_update(lambda event: self._jump(event, self._time.value))
            steps.on_click(lambda event: self._step(event, step if steps.value == "on" else -step))
        with gui.add_folder("Show") as self._show:
            kinds = list(dict.fromkeys(kind for actor in self._actors for kind in actor.kinds))
            look = gui.add_dropdown("bodies", kinds, initial_value=shapes if shapes in kinds else "skeleton", order=0)
            look.on_update(lambda _: self._wear(look.value))
            clear = gui.add_checkbox("see through", False, hint="bodies, to axes and ellipsoids inside", order=1)
            clear.on_update(lambda _: self._on_all(lambda actor: actor.see_through(clear.value)))
            self._longer = gui.add_slider("force scale", -2.0, 2.0, 0.1, 0.0, hint="a power of ten", order=101)
            self._longer.on_update(lambda _: self._refresh())
            for layer in LAYERS:
                self._add_layer(layer)
            for layer in FORCES:  # at least those of the mouse
                if layer == "external forces" or any(layer in forces.kinds for forces in self._acting):
                    self._add_layer(layer)
            frames = _labelled(self._actors[0].model.frame_names[1:501])
            point = gui.add_dropdown(
                "operational inertia", list(frames), hint="an ellipsoid at a frame: long where it is heavy", order=100
            )
            point.on_update(lambda _: self._on_all(lambda actor: _inertia(actor, frames.get(point.value))))
        self._picked = gui.add_text("body", "click one to keep its name", disabled=True)
        self._sliders()

    def _add_layer(self, layer: str) -> None:
        """A checkbox for a layer, if there is none; some layers are visible initially."""
        if layer in self._boxes:
            return
        self._boxes[layer] = box = self._server.gui.add_checkbox(
            layer, layer in ("contact forces", "external forces"), order=2 + (*LAYERS, *FORCES).index(layer)
        )
        box.on_update(lambda _: self._layer(layer, box.value))
        if box.value:
            self._layer(layer, True)

    def _sliders(self) -> None:
        """The joint sliders of every model without a motion."""
        for motion, actor in zip(self._motions, self._actors, strict=True):
            if motion.trajectory is not None or not 0 < actor.model.nv <= _MOST_SLIDERS:
                continue
            with self._server.gui.add_folder(f"Joints of {one_line(actor.model.name)}"):
                handles = [
                    self._server.gui.add_slider(name, low, high, (high - low) / 200.0 or 1.0, min(max(0.0, low), high))
                    for name, low, high in sliders_of(actor.model, actor.length)
                ]
                back = self._server.gui.add_button("neutral")

            def on_change(_: Any, actor: Actor = actor, handles: list[Any] = handles) -> None:
                offset = np.array([handle.value for handle in handles])
                with self._lock:
                    actor.move(integrate(actor.model, neutral(actor.model), offset))
                    self._refresh()

            def reset(_: Any, handles: list[Any] = handles) -> None:
                for handle in handles:
                    handle.value = min(max(0.0, handle.min), handle.max)

            for handle in handles:
                handle.on_update(on_change)
            back.on_click(reset)
            if any(handle.value for handle in handles):  # zero is not within the limits
                on_change(None)

    def _grips(self) -> None:
        """Show a body's name when it is clicked, and let it be pulled while a simulation runs."""
        for index, actor in enumerate(self._actors):
            for body, handle in actor.meshes:

                def clicked(_: Any, body: int = body, actor: Actor = actor) -> None:
                    self._pick(actor, body)

                def dragged(event: Any, body: int = body) -> None:
                    self._drag(event, body)

                handle.on_click(clicked)
                if not index and body:
                    handle.on_drag("left", modifier="cmd/ctrl")(dragged)
                    handle.on_drag("left", modifier="shift")(dragged)

    def _pick(self, actor: Actor, body: int) -> None:
        self._picked.value = f"{actor.looks.names[body]} of {one_line(actor.model.name)}"
        actor.name(body)

    def _wear(self, shapes: str) -> None:
        with self._lock:
            self._on_all(lambda actor: actor.wear(shapes))
            self._grips()  # the meshes are new

    def _drag(self, event: Any, body: int) -> None:
        actor = self._actors[0]
        if event.phase == "end" or self._live is None:
            self._pull.let_go()
            return
        target = np.array(event.end_position) - actor.aside
        if event.phase == "start" or self._pull.grip()[0] != body:
            pose = actor.placements[body]
            grabbed = np.array(event.start_position) - actor.aside
            point = pose[:3, :3].T @ (grabbed - pose[:3, 3])
        else:
            point = self._pull.grip()[1]
        self._pull.hold(body, point, target)

    def _on_all(self, act: Any) -> None:
        with self._lock:
            for actor in self._actors:
                act(actor)
            self._refresh()

    def _layer(self, layer: str, visible: bool) -> None:
        self._on_all(lambda actor: actor.layer(layer, visible))

    def _faster(self, speed: float) -> None:
        self._clock.go(self._clock.now(), self._clock.playing)
        self._clock.speed = speed

    def _go_on(self, event: Any, playing: bool) -> None:
        """Play or pause, as the user chose; the slider then shows the time, so that it can be moved from there."""
        if event.client is None:
            return
        self._clock.go(self._clock.now(), playing)
        self._time.value = round(self._clock.now(), 3)

    def _jump(self, event: Any, time: float) -> None:
        """Go to a time that the user chose, not this program."""
        if event.client is None:
            return
        self._clock.go(time)
        self._playing.value = False

    def _step(self, event: Any, time: float) -> None:
        """Advance by a time; the slider shows the result."""
        self._jump(event, self._clock.now() + time)
        self._time.value = round(self._clock.now(), 3)

    # The state shown at a time

    def _play(self) -> None:
        """Until the view is closed: place everything according to the time, at the frame rate."""
        before = None
        while not self._closed.wait(1.0 / _RATE):
            if self._live is not None or not self._clock.last > self._clock.first:
                continue
            now = self._clock.now()
            if now != before:
                before = now
                self._at(now)

    def _at(self, time: float) -> None:
        with self._lock, self._server.atomic():
            for motion, actor in zip(self._motions, self._actors, strict=True):
                if motion.trajectory is not None:
                    actor.move(motion.at(np.array([time]))[0])
            self._forces(time)
            self._say_events(time)
            if self._clock.playing:
                self._time.value = round(float(time), 3)

    def _say_events(self, time: float) -> None:
        """Show the last event up to a time."""
        if self._event is None:
            return
        words = last_event(self._motions, time)
        if self._event.value != words:
            self._event.value = words

    def _refresh(self) -> None:
        if self._live is None:
            self._forces(self._clock.now())

    def _forces(self, time: float) -> None:
        for motion, actor, acting in zip(self._motions, self._actors, self._acting, strict=True):
            kinds = [kind for kind in acting.kinds if kind in actor.shown]
            states = motion.states(np.array([time])) if kinds else None
            for kind in actor.shown - set(kinds):
                actor.no_arrows(kind)  # left by a simulation
            for kind in kinds:
                places, forces = acting.at(kind, actor.q[None] if states is None else states.q, states)
                actor.arrows(kind, places[0], forces[0], self._metres(actor))

    def _metres(self, actor: Actor) -> float:
        """The length (m) of an arrow per newton: the default, times the slider's factor."""
        return float(newton_length(actor.model, actor.length) * 10.0**self._longer.value)

    # A simulation while it runs: what lw.simulate(..., viewer=view) calls

    def begin(self, model: Model, constraints: Sequence[Constraint], contacts: Contacts | None) -> None:
        """Begin a simulation of the first model shown, with its constraints and contacts."""
        if self._closed.is_set():
            raise ArgumentError("the view is closed; make another with lw.show")
        if model != self._actors[0].model:
            raise ArgumentError(f"the view shows {self._actors[0].model.name!r}, but {model.name!r} is simulated")
        touched = 0 if contacts is None else sum(one.points for one in contacts)
        complete = contacts is None or not constraints  # with contacts, constraint forces are not recorded
        skeleton = self._actors[0].looks.skeleton
        self._live = Forces(skeleton, touched or len(constraints), complete, constraints, contacts, None)
        self._ending, self._began = False, perf_counter()
        floor = _floor(contacts)
        if floor is not None:
            self._server.scene.get_handle_by_name("/ground").position = (0.0, 0.0, floor)
        with self._show:
            for kind in self._live.kinds:
                self._add_layer(kind)
        if not hasattr(self, "_end"):
            with self._server.gui.add_folder("Simulation"):
                self._status = self._server.gui.add_text("now", "", multiline=True, disabled=True)
                self._end = self._server.gui.add_button("end")
            self._end.on_click(lambda _: setattr(self, "_ending", True))

    def pulled(self, q: Array, v: Array) -> Array:
        """The wrench (nbodies, 6) on each body, in its own frame, of pulling with the mouse in the state q, v."""
        self._hand = self._pull.wrenches(q, v)
        return self._hand

    def see(self, state: Snapshot) -> bool:
        """Show a state at its time, not before; returns whether to go on."""
        t = state.t
        if t - self._shown_at >= 1.0 / _RATE or t <= self._shown_at:
            self._show_live(state)
        ahead = t - (perf_counter() - self._began)
        if ahead > 0.002:
            sleep(ahead)
        elif ahead < -0.25:  # too slow for real time: continue from here
            self._began -= ahead
        return not self._ending and not self._closed.is_set()

    def _show_live(self, state: Snapshot) -> None:
        assert self._live is not None
        self._shown_at = state.t
        actor, live, scale = self._actors[0], self._live, self._metres(self._actors[0])
        arrays: dict[str, Any] = {name: np.array(getattr(state, name))[None] for name in ARRAYS}
        here = Trajectory(actor.model, **arrays)
        with self._lock, self._server.atomic():
            actor.move(state.q)
            for kind in live.kinds:
                if kind in actor.shown:
                    live.f_ext = state.f_ext
                    places, forces = live.at(kind, here.q, here)
                    actor.arrows(kind, places[0], forces[0], scale)
            live.f_ext = state.f_ext - self._hand
            places, forces = live.at("external forces", here.q, here)
            body, point, target = self._pull.grip()
            if body:  # from the grabbed point to the mouse
                pose = actor.placements[body]
                anchor = pose[:3, :3] @ point + pose[:3, 3]
                places = np.append(places, anchor[None, None], axis=1)
                forces = np.append(forces, (target - anchor)[None, None] / scale, axis=1)
            actor.arrows("external forces", places[0], forces[0], scale)
            self._status.value = f"t = {state.t:.2f} s; pull a body with shift or ctrl and the mouse"

    def done(self) -> None:
        """End the simulation."""
        self._live, self._shown_at = None, 0.0
        self._pull.let_go()
        self._actors[0].no_arrows("external forces")

    # The view itself

    def wait(self) -> None:
        """Block until Ctrl-C, or until the view is closed."""
        try:
            while not self._closed.wait(0.2):
                pass
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Close the view; the page loses its connection."""
        if not self._closed.is_set():
            self._closed.set()
            self._thread.join(2.0)
            stop(self._server)

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<View of {', '.join(one_line(actor.model.name) for actor in self._actors[:3])}: {self.url}>"

    def _repr_html_(self) -> str:
        """The page itself, in a notebook."""
        return f'<iframe src="{self.url}" width="100%" height="480" style="border:0"></iframe>'


def _floor(contacts: Contacts | None) -> float | None:
    """The height (m) of the lowest horizontal plane of the world among the contacts."""
    heights = []
    for one in contacts or ():
        if isinstance(one.against, Plane) and one.on == WORLD:
            place = matrix(one.on_placement)
            normal = place[:3, :3] @ np.array(one.against.normal)
            if normal[2] > 1.0 - 1e-9:
                heights.append(float(place[2, 3] + one.against.height))
    return min(heights, default=None)


def _labelled(frames: Sequence[str]) -> dict[str, str | None]:
    """Frames by what a list of them shows, first that for none; all different, as the page requires."""
    labels: dict[str, str | None] = {"nowhere": None}
    for frame in frames:
        label = one_line(frame)
        while label in labels:
            label += " (frame)"
        labels[label] = frame
    return labels


def _inertia(actor: Actor, frame: str | None) -> None:
    actor.show_inertia(frame if frame in actor.model.frame_names else None)
