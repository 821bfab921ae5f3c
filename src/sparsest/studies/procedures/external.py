"""Methods of other packages, which have to be installed separately."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsest.studies.procedures.base import Plan, Procedure, Row, row_of, timed, timed_row
from sparsest.studies.procedures.subsets import estimate_local
from sparsest.studies.samples import Sample


def abess(sample: Sample, plan: Plan) -> Iterator[Row]:
    """Run the package abess for every size; it has no ridge to tune."""
    try:
        from abess import LinearRegression, LogisticRegression
    except ImportError as error:
        raise ValueError("this method needs the package abess: pip install abess") from error
    model = LinearRegression if sample.task == "regression" else LogisticRegression
    y = sample.train.y if sample.task == "regression" else (sample.train.y > 0).astype(int)
    for k in plan.ks:
        fitted, seconds, _ = timed(
            lambda k=k: model(support_size=k, fit_intercept=sample.fit_intercept).fit(sample.train.X, y)  # type: ignore[misc]
        )
        intercept = float(np.ravel(fitted.intercept_)[0]) if sample.fit_intercept else 0.0
        yield row_of("abess", k, sample, np.ravel(fitted.coef_), intercept)
        if k == plan.timed_k:
            yield timed_row("abess", k, seconds)


PROCEDURES = (("abess", Procedure(abess, estimate_local)),)
