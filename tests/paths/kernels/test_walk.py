"""A walk along a path, compiled and plain: it is the same as its steps, and stops where it is told."""

import numpy as np
import pytest

from paths.kernels.test_step import PENALTIES, P, make_case
from sparsest.paths.kernels import step
from sparsest.paths.kernels import walk as kernels
from sparsest.paths.kernels.price import Price


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["l1", "scad"])
def test_a_walk_is_its_steps(run, name, sparse):
    """What a walk records of every alpha is what single steps find."""
    penalty = PENALTIES[name]
    columns, at, fixed, memory, top, _ = make_case(penalty, sparse)
    alphas = top * np.array([0.9, 0.75, 0.6, 0.5])
    track = kernels.Track(
        np.empty(400, dtype=np.intp), np.empty(400), *np.empty((2, 4), dtype=np.intp), *np.empty((3, 4))
    )
    limits = kernels.Limits(1e-9, penalty.convex, 10_000, P + 1, 0.0)
    price = Price(np.inf, 0.0, 0.0, 0.0)
    done, code, *_ = run(kernels.walk)(
        columns, penalty, at, fixed, memory, track, alphas, top, top, limits, price
    )  # fmt: skip
    assert (done, code) == (4, step.DONE)
    columns, at, fixed, memory, top, _ = make_case(penalty, sparse)
    before = last = top
    for k, alpha in enumerate(alphas):
        ratio = (last - alpha) / (before - last) if before > last else 0.0
        assert step.begin(columns, at, fixed, memory, alpha, last, ratio)
        _, sweeps, _, loss, _ = step.solve(
            columns, penalty, at, fixed, memory, alpha, 1e-9, penalty.convex, False, 10_000, np.inf
        )
        part = slice(track.ends[k - 1] if k else 0, track.ends[k])
        found, expected = np.zeros(P), np.zeros(P)
        found[track.features[part]] = track.w[part]
        expected[columns.names[: at.size[0]]] = at.w[: at.size[0]]
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert np.all(track.w[part] != 0.0) and abs(track.sweeps[k] - sweeps) <= 2
        assert track.losses[k] == pytest.approx(loss, rel=1e-6) and track.violations[k] <= 1e-5 * alpha
        assert track.gaps[k] <= 1e-9 or not penalty.convex
        before, last = last, alpha


def test_a_walk_stops_where_it_is_told(run):
    penalty = PENALTIES["l1"]
    alphas, price = np.geomspace(0.9, 0.2, 6), Price(np.inf, 0.0, 0.0, 0.0)
    for limits, features in (((10_000, 2, 0.0), 2), ((10_000, P + 1, np.inf), 0)):
        columns, at, fixed, memory, top, _ = make_case(penalty, False)
        room = np.empty(400, dtype=np.intp), np.empty(400)
        track = kernels.Track(*room, *np.empty((2, 6), dtype=np.intp), *np.empty((3, 6)))
        done, code, *_ = run(kernels.walk)(
            columns, penalty, at, fixed, memory, track, top * alphas, top, top,
            kernels.Limits(1e-6, True, *limits), price,
        )  # fmt: skip
        assert 1 <= done < 6 and code == step.DONE
        counts = np.diff(np.append(0, track.ends[:done]))
        assert counts[-1] >= features and (counts[:-1] < max(features, 1)).all()
