"""Base class of estimators with cross-validation: folds, scores, and the routing of weights and groups."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from sparsest.core.arrays import Array
from sparsest.core.checks import as_array, as_numbers, optional, whole_number
from sparsest.core.data import Data
from sparsest.estimators.base import SparseLinearModel
from sparsest.results.advice import level_of_the_user
from sparsest.selection.cross_validation import Validation, check_selection, cross_validate
from sparsest.selection.folds import make_folds
from sparsest.selection.models import Models
from sparsest.selection.scores import make_score

Judge = Callable[[Callable[[Data], Models]], Validation]


class CrossValidated(SparseLinearModel):
    """An estimator with the parameters ``cv``, ``scoring``, ``selection`` and ``n_jobs``."""

    cv: Any
    scoring: Any
    selection: str
    n_jobs: int | None
    cv_results_: dict[str, NDArray[Any]]
    best_index_: int
    best_score_: float
    at_an_end_: str

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None, **params: Any
    ) -> Any:
        """Choose parameters by cross-validation, then fit the chosen model to all data.

        Parameters
        ----------
        X : matrix or sparse matrix of shape (n_samples, n_features)
        y : n_samples responses, or labels of two classes
        sample_weight : n_samples nonnegative weights; scores are weighted too
        offset, exposure : n_samples numbers each, see :func:`sparsest.best_subset`; predictions of held-out rows use
            them too
        **params : ``groups`` for the splitter; with metadata routing, everything that splitter and scorer request

        Returns
        -------
        self
        """
        if get_config()["enable_metadata_routing"]:
            given = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
            routed = process_routing(self, "fit", **given, **params)
            split, score = routed.splitter.split, routed.scorer.score
        else:
            unknown = sorted(params.keys() - {"groups"})
            if unknown:
                raise TypeError(f"fit takes no argument {unknown[0]!r} unless metadata routing is enabled")
            split = params
            score = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self._fit(X, y, sample_weight, offset=offset, exposure=exposure, split=split, score=score)

    def get_metadata_routing(self) -> MetadataRouter:
        """Route metadata: those of ``split`` to the splitter, those of ``score`` to the scorer."""
        scorer = None if self.scoring is None else get_scorer(self.scoring)
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        )

    def _repr_html_inner(self) -> str:
        """The diagram of scikit-learn and, after a fit, the held-out scores, for notebooks."""
        return super()._repr_html_inner() + (self._scores_part() if hasattr(self, "cv_results_") else "")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | {"text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def _scores_part(self) -> str:
        """Scores over the number of features or over alpha, with the other parameters as chosen."""
        from sparsest.results.markup import fragment, scores_chart

        table, by_size = self.cv_results_, "param_k" in self.cv_results_
        axis = "param_k" if by_size else "param_alpha"
        others = [name for name in table if name.startswith("param_") and name != axis]
        same = np.ones(table[axis].size, dtype=bool)
        for name in others:
            same &= table[name] == table[name][self.best_index_]
        at = np.flatnonzero(same)[np.argsort(table[axis][same], kind="stable")]
        x, mean, error = (table[name][at].astype(float) for name in (axis, "mean_test_score", "se_test_score"))
        label = "number of features" if by_size else "alpha"
        return fragment(scores_chart(x, mean, error, label, float(table[axis][self.best_index_]), log_x=not by_size))

    def _judge(self, data: Data, X: Any, y: Array, weights: Any, split: Any, score: Any) -> Judge:
        """The object that cross-validates grids on the same folds; ``weights`` are those of all rows."""
        classes = getattr(self, "classes_", None)
        kept = _kept(weights, y.size)
        folds = make_folds(self.cv, X, y, classification=classes is not None, weights=kept, **split)
        check_selection(self.selection, len(folds))
        params = {name: _of_kept(value, kept) for name, value in score.items()}
        judge, callback = make_score(self.scoring, params, classes), getattr(self, "callback", None)
        n_jobs = check_jobs(self.n_jobs)

        def validate(fit: Callable[[Data], Models]) -> Validation:
            return cross_validate(fit, data, folds, judge, n_jobs, callback)

        return validate

    def _warn_if_interrupted(self, validation: Validation) -> None:
        n_done = validation.scores.shape[1]
        if validation.n_missing:
            warnings.warn(
                f"interrupted after {n_done} of {n_done + validation.n_missing} folds: the choice uses only these",
                ConvergenceWarning,
                stacklevel=level_of_the_user(),
            )

    def _tell_of_an_end(self, sentence: str) -> None:
        """Keep the sentence on a best value at the end of its grid, and warn of it; empty if there is none."""
        self.at_an_end_ = sentence
        if sentence:
            warnings.warn(sentence, UserWarning, stacklevel=level_of_the_user())

    def _keep_validation(self, validation: Validation, index: int, **params: Any) -> None:
        self.cv_results_ = validation.table(**params)
        self.best_index_, self.best_score_ = index, float(validation.mean[index])


def check_jobs(n_jobs: Any) -> int | None:
    """Check the number of parallel folds, by joblib's conventions: None, a positive number, or -1 for all cores."""
    jobs: int | None = optional(whole_number)(n_jobs, "n_jobs")
    if jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of jobs, -1 for all cores, or None")
    return jobs


def _kept(weights: Any, n: int) -> Array:
    """The weights of all rows."""
    if weights is None:
        return np.ones(n)
    given = as_numbers(as_array(weights, "sample_weight"), "sample_weight")
    return np.full(n, float(given)) if given.ndim == 0 else given


def _of_kept(value: Any, weights: Array) -> Any:
    """Drop the entries of rows of weight zero from a value with an entry for each row."""
    array = np.asarray(value)
    return array[weights > 0.0] if array.shape[:1] == weights.shape else value
