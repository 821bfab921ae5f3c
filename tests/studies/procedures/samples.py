"""A small data set and plan for tests of procedures."""

import numpy as np

from sparsest.studies.procedures import Plan
from sparsest.studies.samples import Source, draw

PLAN = Plan((1, 2, 3), 2, exact_seconds=5.0, iterations=20, n_gammas=4, n_mixings=2, n_concavities=2)


def sample_of(task="regression"):
    source = Source("toeplitz", task, p=12, k=2, snr=4.0, rho=0.3, n_validation=40, n_test=40)
    return draw(source, 60, np.random.default_rng(3))


def check_models(rows):
    """Models of all sizes are honest about themselves, and the timed one has its time."""
    free = [row for row in rows if row.get("free")]
    models = [row for row in rows if "validation" in row and not row.get("free")]
    sizes = {row["k"] for row in models}
    # A path may begin with more features than the smallest size.
    assert sizes <= {1, 2, 3} and {2, 3} <= sizes
    for row in models:
        assert row["n_selected"] <= row["k"] and row["tf"] + row["ff"] == row["n_selected"]
        assert row["validation"] >= 0.0 and row["test"] >= 0.0
    for row in free:
        assert row["k"] == row["n_selected"] == row["tf"] + row["ff"]
        assert row["validation"] <= min(model["validation"] for model in models)
    methods = {row["method"] for row in models}
    timed = [row for row in rows if row["method"].endswith(" timed")]
    assert {row["method"].removesuffix(" timed") for row in timed} == methods and len(timed) == len(methods)
    assert all(row["k"] == 2 and row["seconds"] > 0.0 for row in timed)
