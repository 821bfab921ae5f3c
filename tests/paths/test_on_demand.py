"""Paths of matrices that are read on demand: how often they are read, and Ctrl-C between two blocks."""

import numpy as np
import pytest

import sparsest
from sparsest.core.designs import Streamed
from sparsest.core.designs.sources import ArraySource
from sparsest.runtime.events import Alpha, Pass
from sparsest.runtime.faults import injected

N, P = 60, 5000


def data(loss="squared", order="F", n=N, p=P):
    rng = np.random.default_rng(0)
    X = np.array(rng.standard_normal((n, p)), order=order)
    u = X[:, :4].sum(axis=1) + rng.standard_normal(n)
    return X, u if loss == "squared" else np.where(u > 0.0, 1, -1)


def streamed(X):
    return Streamed(ArraySource(X), block_bytes=X.nbytes // 20, copy_bytes=X.nbytes // 2)


@pytest.mark.parametrize("penalty", ["l1", "mcp"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
class TestPasses:
    """At most two for each alpha; far fewer where bounds settle which gradients matter."""

    @pytest.mark.parametrize("alphas", [8, 100])
    def test_columns(self, loss, penalty, alphas):
        X, y = data(loss)
        path = sparsest.penalty_path(streamed(X), y, penalty, loss=loss, alphas=alphas)
        reading, n_solved = path.reading, int(path.solved.sum())
        assert n_solved > 0.5 * alphas
        assert 1.0 <= reading["passes"] <= 2.0 * n_solved
        assert penalty == "mcp" or alphas < 100 or reading["passes"] <= 0.5 * n_solved
        assert reading["bytes"] == pytest.approx(reading["passes"] * X.nbytes)
        assert reading["seconds_reading"] > 0.0 and reading["seconds_computing"] > 0.0

    @pytest.mark.parametrize("alphas", [10, 100])
    def test_rows(self, loss, penalty, alphas):
        X, y = data(loss, "C")
        path = sparsest.penalty_path(streamed(X), y, penalty, loss=loss, alphas=alphas)
        # Ten alphas are far from each other: 1.6 and 2.1 passes each for the Lasso, 2.9 and 1.1 for MCP.
        most = 2.0 if alphas == 100 or (loss, penalty) == ("squared", "l1") else 3.0
        assert 1.0 <= path.reading["passes"] <= most * path.solved.sum()
        known = sparsest.penalty_path(X, y, penalty, loss=loss, alphas=alphas)
        if penalty == "l1":
            assert (known.converged == path.converged).all()
            objectives = [(p.dual_gaps[p.solved] <= 2e-3).all() for p in (known, path)]
            assert all(objectives)

    def test_chunks_of_rows(self, loss, penalty):
        X, y = data(loss)
        path = sparsest.penalty_path([X[:25], X[25:]], y, penalty, loss=loss)
        reading = path.reading
        assert 1.0 <= reading["passes"] <= 2.0 * path.solved.sum()
        assert reading["bytes"] == pytest.approx(reading["passes"] * X.nbytes)


def test_nothing_is_counted_in_memory():
    X, y = data(p=30)
    assert sparsest.penalty_path(X, y, alphas=5).reading is None


@pytest.mark.parametrize("chunks", [False, True])
@pytest.mark.parametrize("penalty", ["l1", "mcp"])
def test_an_interrupted_pass_keeps_the_models_before_it(penalty, chunks):
    """At whichever check of the clock Ctrl-C is noticed, the models before it are those of the whole path."""
    X, y = data()
    design = [X[:25], X[25:]] if chunks else streamed(X)
    whole = sparsest.penalty_path(design, y, penalty, alphas=20)
    in_a_pass = 0
    for last in (3, 40, 80, 120):
        asked = []

        def expired(asked=asked, last=last):
            asked.append(1)
            return len(asked) >= last

        with injected("clock", expired):
            path = sparsest.penalty_path(design, y, penalty, alphas=20)
        n_solved = int(path.solved.sum())
        assert n_solved >= 1
        if n_solved < whole.solved.sum():
            assert path.stopped is sparsest.Stop.TIME_LIMIT
            in_a_pass += 1
        np.testing.assert_allclose(
            path.coefs.toarray()[:, :n_solved], whole.coefs.toarray()[:, :n_solved], rtol=1e-9, atol=1e-12
        )
        assert path.reading["passes"] <= whole.reading["passes"]
    assert in_a_pass > 0


def test_a_pass_ends_between_two_blocks():
    """Ctrl-C in a pass of the second alpha: no more than the blocks that were under way are read."""
    X, y = data()
    design = streamed(X)
    asked = []

    def expired():
        asked.append(1)
        return len(asked) >= 6

    with injected("clock", expired):
        path = sparsest.penalty_path(design, y, alphas=20)
    assert path.stopped is sparsest.Stop.TIME_LIMIT and path.solved[0]
    assert path.reading["passes"] < 2.0 + 1.0


def test_a_callback_is_told_of_alphas_and_blocks_and_ends_the_path():
    X, y = data()
    told = []
    path = sparsest.penalty_path(streamed(X), y, alphas=8, callback=told.append)
    alphas = [event for event in told if isinstance(event, Alpha)]
    n_solved = int(path.solved.sum())
    assert [event.n_done for event in alphas] == list(range(1, n_solved + 1))
    assert {event.n_alphas for event in alphas} == {8}
    assert [event.n_features for event in alphas] == path.n_nonzero[:n_solved].tolist()
    passes = [event.passes for event in told if isinstance(event, Pass)]
    assert passes == sorted(passes) and passes[-1] == pytest.approx(path.reading["passes"])
    # The first pass is reported from its first block on.
    assert isinstance(told[0], Pass) and told[0].passes == pytest.approx(1 / 20)
    for given in (streamed(X), X):
        path = sparsest.penalty_path(given, y, alphas=8, callback=lambda event: getattr(event, "n_done", 0) == 3)
        assert path.stopped is sparsest.Stop.INTERRUPTED and path.solved.sum() == 3


def test_progress_is_shown(capsys):
    X, y = data()
    path = sparsest.penalty_path(streamed(X), y, alphas=8, verbose=True)
    assert f"path: {path.solved.sum()} of 8 alphas" in capsys.readouterr().out
