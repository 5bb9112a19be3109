"""Trajectories: sliced, resampled, saved, as tables and as plots."""

from __future__ import annotations

import contextlib
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.tangent import Tangent
from strategies import close, pool_to_compile

MODEL = pool_to_compile()[3]
"""With a free joint among others."""


@pytest.fixture(scope="module")
def path() -> lw.Trajectory:
    q, v = lw.random_state(MODEL, 5)
    return lw.simulate(MODEL, q, v, 0.4, 0.01, integrator="runge_kutta_4")


def test_it_knows_its_length_and_its_energy(path: lw.Trajectory) -> None:
    assert len(path) == 41 and repr(path) == "<Trajectory of 'kinds3': 41 states, 0 to 0.4 s>"
    kinetic, potential = path.energy
    assert (kinetic == lw.energy(MODEL, path.q, path.v)[0]).all() and potential.shape == (41,)


def test_slices_are_trajectories(path: lw.Trajectory) -> None:
    part = path[10:20:3]
    assert len(part) == 4 and (part.t == path.t[[10, 13, 16, 19]]).all() and (part.q == path.q[10:20:3]).all()
    assert part.constraint_forces.shape == (4, 0, 6) and (part.energy[0] == path.energy[0][10:20:3]).all()
    assert len(path[50:]) == 0 and repr(path[50:]) == "<Trajectory of 'kinds3': 0 states>"
    for bad in (3, slice(None, None, -1), "q"):
        with pytest.raises(lw.ArgumentError, match="cut by slices that go forward"):
            path[bad]  # type: ignore[index]


def test_it_cannot_be_changed(path: lw.Trajectory) -> None:
    with pytest.raises(ValueError, match="read-only"):
        path.q[0, 0] = 1.0
    own = path.q.copy()
    lw.Trajectory(MODEL, path.t, own, path.v, path.a, path.tau, path.constraint_forces)
    again = pickle.loads(pickle.dumps(path))
    assert (again.q == path.q).all() and not again.q.flags.writeable
    own[0, 0] = 1.0  # what a trajectory was made of stays its owner's


@pytest.mark.parametrize("model", pool_to_compile()[:5], ids=lambda model: model.name)
def test_between_states_it_is_exact_to_order_four(model: lw.Model) -> None:
    q, v = lw.random_state(model, 5)
    fine = lw.simulate(model, q, v, 0.16, 0.005, integrator="runge_kutta_4", damping=False, friction=False)
    errors = []
    for every in (8, 4):
        again = fine[::every].resample(fine.t)
        assert (again.t == fine.t).all()
        close(again.q[::every], fine.q[::every], 1e-14)
        errors.append(abs(lw.difference(model, fine.q, again.q)).max())
    assert errors[0] < 1e-3 and np.log2(errors[0] / errors[1]) > 3.4


def test_resampling_at_an_interval_or_at_times(path: lw.Trajectory) -> None:
    assert path.resample(0.1).t == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert path.resample(0.15).t == pytest.approx([0.0, 0.15, 0.3])
    one = path.resample([0.005])
    close(one.v[0], 0.5 * (path.v[0] + path.v[1]), 1e-14)
    assert path[:1].resample([0.0]).q[0] == pytest.approx(path.q[0])
    for bad, message in (
        (-0.1, "interval of times must be a positive number of seconds, not -0.1"),
        ([0.1, 0.1], "must increase"),
        ([0.1, 0.5], "only from 0 to 0.4 s"),
        ([np.nan], "finite"),
        ("often", r"times, an interval \(s\) or finite times \(M,\), must hold real numbers"),
    ):
        with pytest.raises(lw.ArgumentError, match=message):
            path.resample(bad)
    with pytest.raises(lw.ArgumentError, match="without states"):
        path[50:].resample(0.1)


def test_the_tangent_s_rate_is_the_derivative() -> None:
    """Of q₀ ⊕ δ(t) with velocity v: by differences of configurations, for small and large rotations."""
    builder = lw.Builder("all rotations")
    for name, joint in (("a", lw.joints.Free()), ("b", lw.joints.Spherical()), ("c", lw.joints.Planar())):
        builder.add_body(name, joint=joint, mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    tangent, rng, h = Tangent(model), np.random.default_rng(0), 1e-6
    for angle in (0.0, 1e-4, 0.3, 0.499, 0.501, 1.0, 3.0):
        q0, v = lw.random_state(model, rng)
        offset = rng.normal(size=12)
        for turn in (slice(3, 6), slice(6, 9), slice(11, 12)):
            offset[turn] *= angle / np.linalg.norm(offset[turn])
        q = lw.integrate(model, q0, offset)
        ends = [lw.difference(model, q0, lw.integrate(model, q, sign * h * v)) for sign in (-1.0, 1.0)]
        close(tangent.rate(offset, v), (ends[1] - ends[0]) / (2 * h), 1e-8)


# On disk


def test_it_comes_back_from_disk(path: lw.Trajectory, tmp_path: Path) -> None:
    file = path.save(tmp_path / "new" / "fall")
    assert file == tmp_path / "new" / "fall.npz"
    again = lw.Trajectory.load(file, MODEL)
    for name in ("t", "q", "v", "a", "tau", "constraint_forces"):
        assert (getattr(again, name) == getattr(path, name)).all()
    assert not again.interrupted
    with np.load(file, allow_pickle=False) as plain:
        assert "q" in plain.files


def test_what_is_no_trajectory_of_this_model_is_refused(path: lw.Trajectory, tmp_path: Path) -> None:
    file = path.save(tmp_path / "fall.npz")
    arm = lw.mechanisms.serial_chain(2)
    with pytest.raises(lw.ArgumentError, match="made with the model 'kinds3' of 4 joints, not those of 'serial_chain'"):
        lw.Trajectory.load(file, arm)
    own = lw.simulate(arm, [0.0, 0.0], [0.0, 0.0], 0.1, 0.01).save(tmp_path / "arm.npz")
    with pytest.raises(lw.ArgumentError, match=r"same joints as .* but other sizes, masses, axes or gravity"):
        lw.Trajectory.load(own, lw.mechanisms.serial_chain(2, link_mass=2.0))
    with pytest.raises(lw.ArgumentError, match="there is no file"):
        lw.Trajectory.load(tmp_path / "none.npz", MODEL)
    (tmp_path / "text.npz").write_text("no")
    with pytest.raises(lw.ArgumentError, match=r"no \.npz file that can be read"):
        lw.Trajectory.load(tmp_path / "text.npz", MODEL)
    (tmp_path / "cut.npz").write_bytes(file.read_bytes()[:2000])
    with pytest.raises(lw.ArgumentError, match=r"no \.npz file that can be read"):
        lw.Trajectory.load(tmp_path / "cut.npz", MODEL)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(whole), size=200):
        (tmp_path / "flipped.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with contextlib.suppress(lw.ArgumentError):  # nothing else may come out, whatever is broken
            lw.Trajectory.load(tmp_path / "flipped.npz", MODEL)
    kept = dict(np.load(file))
    np.savez(tmp_path / "words.npz", **(kept | {"q": kept["q"].astype(str)}))
    with pytest.raises(lw.ArgumentError, match="q of a trajectory must be float64"):
        lw.Trajectory.load(tmp_path / "words.npz", MODEL)
    np.savez(tmp_path / "other.npz", q=path.q)
    np.save(tmp_path / "one.npy", path.q)
    np.savez(tmp_path / "pickled.npz", format=np.array([{}], dtype=object))
    for name in ("other.npz", "one.npy", "pickled.npz"):
        with pytest.raises(lw.ArgumentError, match=r"holds no trajectory|can be read"):
            lw.Trajectory.load(tmp_path / name, MODEL)


def test_arrays_of_wrong_shape_make_no_trajectory(path: lw.Trajectory) -> None:
    with pytest.raises(lw.ArgumentError, match=r"v of a trajectory must be float64 of shape \(41, 9\)"):
        lw.Trajectory(MODEL, path.t, path.q, path.v[:, :3], path.a, path.tau, path.constraint_forces)
    with pytest.raises(lw.ArgumentError, match="tau of a trajectory"):
        lw.Trajectory(MODEL, path.t, path.q, path.v, path.a, [1.0], path.constraint_forces)  # type: ignore[arg-type]


# Tables and curves


def test_a_dataframe_has_a_row_for_each_time(path: lw.Trajectory) -> None:
    table = path.to_dataframe()
    assert table.shape == (41, 10 + 3 * 9 + 2) and table.index.name == "t"
    free = MODEL.bodies[2].joint_name
    assert (table["q"][f"{free}[3]"].to_numpy() == path.q[:, MODEL.q_start[2] + 3]).all()
    assert (table["energy", "kinetic"].to_numpy() == path.energy[0]).all()
    box = lw.mechanisms.free_box()
    loop = lw.simulate(box, lw.neutral(box), [0.0] * 6, 0.02, 0.01, constraints=[lw.Ball("box")])
    assert loop.to_dataframe()["constraint1"].columns.tolist() == ["fx", "fy", "fz", "mx", "my", "mz"]


def test_what_is_not_installed_is_named(path: lw.Trajectory, monkeypatch: pytest.MonkeyPatch) -> None:
    for missing in ("pandas", "matplotlib", "scipy.integrate"):
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(lw.MissingExtraError, match=r"needs pandas: pip install 'linkwork\[simulation\]'"):
        path.to_dataframe()
    with pytest.raises(lw.MissingExtraError, match=r"pip install 'linkwork\[plot\]'"):
        path.plot()
    with pytest.raises(lw.MissingExtraError, match=r"needs scipy: pip install 'linkwork\[simulation\]'"):
        lw.simulate(MODEL, path.q[0], path.v[0], 0.1, 0.1, integrator="adaptive")


def test_curves_are_the_numbers(path: lw.Trajectory, tmp_path: Path) -> None:
    picture = path.plot(joints=[MODEL.joint_names[0]], path=tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    first = picture.axes[0].lines[0]
    assert (first.get_ydata() == path.q[:, 0]).all() and (first.get_xdata() == path.t).all()
    total = picture.axes[3].lines[2].get_ydata()
    assert np.ptp(total) < 1e-6 * abs(path.energy[0]).max()
    with pytest.raises(lw.UnknownNameError, match="has no joint named 'elbo'"):
        path.plot(joints="elbo")
    with pytest.raises(lw.ArgumentError, match="a picture's name must end in one of"):
        path.plot(path=tmp_path / "curves.doc")
