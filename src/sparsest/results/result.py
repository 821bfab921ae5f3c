"""What a solver returns: the model, its bound and the proof of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.checks import column_names
from sparsest.core.data import added_to_predictions, make_data
from sparsest.core.designs import Design, as_design
from sparsest.core.losses import LOSSES, Loss, mean_of
from sparsest.proofs.certificate import Certificate, relative_gap
from sparsest.proofs.statement import Statement
from sparsest.results import result_files
from sparsest.results.parts import Restart, Screening
from sparsest.results.plain_tables import data_frame, feature_name, text_table, wrapped
from sparsest.results.wording import advice_sentence, explained_sentence, proof_sentence, shares_of
from sparsest.runtime.events import Status

if TYPE_CHECKING:
    from sparsest.results.inference import Inference


@dataclass(frozen=True, eq=False)
class Result:
    """A model, a lower bound for all models, and the proof of that bound.  The data are not stored.

    Attributes
    ----------
    coef : p coefficients, for the data as given
    intercept : the constant, for the data as given
    support : the columns of the model, in increasing order
    objective, lower_bound : values for the problem that was solved (on standardised columns with ``standardize=True``)
    gap : relative distance between them
    status : how the search ended
    statement : the complete problem except for the data, of which it has the fingerprint
    certificate : the proof of the bound; None with ``proof=False``, when only the trivial bound is claimed
    trace : details of the computation, which depend on the method
    seconds : duration of the call, including preparation of the data and excluding compilation of kernels
    n_nodes : number of nodes of the search
    feature_names : names of all columns, or None
    feature_groups : the group of every column, if columns were chosen by groups; None otherwise
    classes : the two labels in sorted order, the second one the positive class; None for a regression
    about : further information to keep in a file, in JSON's types; the command line stores its settings and the
        encoding of the columns here
    null_loss : the loss of the model without features; None for a result from a file that does not have it
    deviations : standard deviations of the chosen columns; None if they are unknown
    screening : the outcome of screening, if features were screened; not kept in files
    restart : starting points for a later search; not kept in files

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> result = sparsest.best_subset(data.X, data.y, k=2, feature_names=data.feature_names)
    >>> result.names, result.coef[result.support].round(1).tolist()
    (['bmi', 's5'], [29.9, 27.5])
    >>> result.predict(data.X[:2]).round(1).tolist()
    [202.4, 80.3]
    >>> result.save("model.json")
    >>> sparsest.Result.load("model.json").names
    ['bmi', 's5']
    """

    coef: Array
    intercept: float
    support: Indices
    objective: float
    lower_bound: float
    status: Status
    statement: Statement
    certificate: Certificate | None = None
    trace: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    n_nodes: int = 0
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)
    classes: NDArray[Any] | None = None
    about: dict[str, Any] = field(default_factory=dict, repr=False)
    null_loss: float | None = None
    deviations: Array | None = field(default=None, repr=False)
    screening: Screening | None = field(default=None, repr=False)
    restart: Restart = field(default=Restart(), repr=False)
    feature_groups: tuple[str | int, ...] | None = field(default=None, repr=False)

    # Names of the columns of ``rows``.
    heads: ClassVar[tuple[str, ...]] = ("feature", "coefficient", "per standard deviation")

    @property
    def gap(self) -> float:
        """Relative distance between objective and lower bound."""
        return relative_gap(self.objective, self.lower_bound)

    @property
    def names(self) -> list[str]:
        """The names of the chosen columns; their indices if there are no names."""
        return [feature_name(self.feature_names, j) for j in self.support.tolist()]

    @property
    def terms(self) -> list[str]:
        """The names of the chosen groups, or of the chosen columns where columns are not grouped."""
        if self.feature_groups is None:
            return self.names
        return list(dict.fromkeys(str(self.feature_groups[j]) for j in self.support.tolist()))

    @cached_property
    def loss(self) -> Loss:
        """The loss, with its parameters."""
        return LOSSES[self.statement.loss](**self.statement.parameters)

    def decision_function(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Array:
        """``Xw + b`` for every row of X, with the offset and the logarithm of the exposure added.

        Parameters
        ----------
        X : matrix, sparse matrix or data frame with the columns of the fit
        offset, exposure : those of the rows of X, as in the fit
        """
        design, chosen = self._columns_of(X)
        added = added_to_predictions(offset, exposure, design.shape[0], self.loss)
        return np.asarray(chosen @ self.coef[self.support] + self.intercept + added)

    def _columns_of(self, X: Any) -> tuple[Design, Array]:
        """X as a design, and its chosen columns; ValueError if they do not suit the model."""
        design = as_design(X)
        if design.shape[1] != self.coef.size:
            raise ValueError(f"X has {design.shape[1]} columns, but the model is for {self.coef.size}")
        names = column_names(X)
        if None not in (names, self.feature_names) and names != self.feature_names:
            raise ValueError(
                "the columns of X have other names, or another order, than in the fit: give the same columns in the "
                "same order"
            )
        chosen = design.columns(self.support)
        if not np.isfinite(chosen).all():
            raise ValueError("X contains NaN or infinity in the columns of the model: impute or drop these rows first")
        return design, chosen

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> NDArray[Any]:
        """Predict the response of every row of X.

        It is the label for a classification loss, the mean ``e^u`` for losses with a logarithmic link (of the whole
        exposure, where one is given), the quantile for the quantile loss, and u for the others.

        Parameters
        ----------
        X : matrix, sparse matrix or data frame with the columns of the fit
        offset, exposure : those of the rows of X, as in the fit
        """
        score = self.decision_function(X, offset=offset, exposure=exposure)
        if self.classes is not None:
            return self.classes[(score > 0).astype(int)]
        return mean_of(self.loss, score)

    def predict_proba(self, X: Any, *, offset: Any = None) -> Array:
        """Probabilities of the two labels, in the order of ``classes``; only for the logistic loss.

        Parameters
        ----------
        X : matrix, sparse matrix or data frame with the columns of the fit
        offset : that of the rows of X, as in the fit

        Examples
        --------
        >>> import sparsest
        >>> data = sparsest.datasets.load_breast_cancer()
        >>> result = sparsest.best_subset(data.X, data.y, k=2, loss="logistic")
        >>> result.predict_proba(data.X[:1]).round(3).tolist()
        [[0.997, 0.003]]
        """
        if self.statement.loss != "logistic":
            raise ValueError(f"probabilities need loss='logistic', this model has loss={self.statement.loss!r}")
        return probabilities(self.decision_function(X, offset=offset))

    def inference(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
        cov_type: str | None = None,
        confidence: float = 0.95,
        use_t: bool | None = None,
        weights: str = "precision",
    ) -> Inference:
        """Standard errors, tests and intervals of the chosen features' coefficients, from a refit without shrinkage.

        They are conditional on the chosen features.  If the same rows were used to select them, which the fingerprint
        of the data reveals, p-values are too small and intervals too narrow.  They are valid for other rows.

        Parameters
        ----------
        X : matrix, sparse matrix or data frame with the columns of the fit: its rows, or others
        y, sample_weight, offset, exposure : the values for the rows of X, as in the fit
        cov_type : "nonrobust" trusts the model of the response's variance; "HC0", "HC1", "HC2" and "HC3" do not.  By
            default "nonrobust", and "HC0" for losses without such a model (Huber's and squared insensitive and hinge
            losses).  Losses with kinks have neither: see :func:`sparsest.bootstrap`
        confidence : level of the intervals
        use_t : whether statistics are compared with Student's t instead of the normal distribution; by default for the
            squared loss with "nonrobust" errors, as in statsmodels
        weights : what ``sample_weight`` means: "precision" (the variance of a response is inverse to its weight) or
            "frequency" (the number of times an observation occurred)

        Returns
        -------
        Inference
            Arrays with an entry for each coefficient, ``to_frame()`` and ``summary()``.

        Raises
        ------
        ValueError
            If the refit has no unique or no finite coefficients: features that depend on each other, classes that are
            separated, or no more observations than coefficients.

        Examples
        --------
        >>> import sparsest
        >>> data = sparsest.datasets.load_diabetes_quadratic()
        >>> chosen = sparsest.best_subset(data.X[:221], data.y[:221], k=2)
        >>> tested = chosen.inference(data.X[221:], data.y[221:])
        >>> tested.same_rows, bool((tested.p_value < 0.001).all())
        (False, True)
        """
        from sparsest.results.inference import infer

        design, columns = self._columns_of(X)
        about, model = self.statement, self.coef[self.support]
        settings: dict[str, Any] = {"loss": self.loss, "fit_intercept": about.fit_intercept}
        settings |= {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
        whole = make_data(design, y, standardize=about.standardize, **settings)
        return infer(
            columns, y, self.names, model=np.append(model, self.intercept) if about.fit_intercept else model,
            cov_type=cov_type, confidence=confidence, use_t=use_t, weights=weights,
            same_rows=whole.evidence.fingerprint() == about.fingerprint, **settings,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the model, its bound and its status in JSON's types."""
        return {
            "features": dict(zip(self.names, self.coef[self.support].tolist(), strict=True)),
            "terms": self.terms,
            "support": self.support.tolist(),
            "intercept": float(self.intercept),
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "status": self.status.name,
            "seconds": self.seconds,
            "n_nodes": self.n_nodes,
        }

    def to_frame(self) -> Any:
        """Return the chosen columns and their coefficients as a pandas data frame, one row for each.

        Examples
        --------
        >>> import sparsest
        >>> data = sparsest.datasets.load_diabetes_quadratic()
        >>> result = sparsest.best_subset(data.X, data.y, k=2, feature_names=data.feature_names)
        >>> result.to_frame().round(1)
                 column  coefficient
        feature
        bmi           2         29.9
        s5            8         27.5
        """
        return data_frame({"column": self.support, "coefficient": self.coef[self.support]}, self.names, "feature")

    def save(self, path: str | Path) -> None:
        """Write the model, its problem and its certificate to one file of JSON, without the data and the trace.

        See :mod:`sparsest.results.result_files` for what is in it.
        """
        kept = {
            "support": self.support.tolist(),
            "coef": self.coef[self.support].tolist(),
            "intercept": float(self.intercept),
            "objective": float(self.objective),
            "lower_bound": float(self.lower_bound),
            "status": self.status.name,
            "seconds": float(self.seconds),
            "n_nodes": int(self.n_nodes),
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "feature_groups": None if self.feature_groups is None else list(self.feature_groups),
            "classes": None if self.classes is None else self.classes.tolist(),
            "about": self.about,
            "null_loss": None if self.null_loss is None else float(self.null_loss),
            "deviations": None if self.deviations is None else self.deviations.tolist(),
        }
        result_files.write(path, kept, self.statement, self.certificate)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a file written by ``save``; nothing in it is executed."""
        kept, statement, certificate = result_files.read(path)
        support = np.array(kept["support"], dtype=np.intp)
        coef = np.zeros(statement.p)
        coef[support] = kept["coef"]
        if kept["status"] not in Status.__members__:
            raise ValueError(f"{path} has the unknown status {kept['status']!r}")
        return cls(
            coef=coef,
            intercept=kept["intercept"],
            support=support,
            objective=kept["objective"],
            lower_bound=kept["lower_bound"],
            status=Status[kept["status"]],
            statement=statement,
            certificate=certificate,
            seconds=kept["seconds"],
            n_nodes=kept["n_nodes"],
            feature_names=None if kept["feature_names"] is None else tuple(kept["feature_names"]),
            feature_groups=None if kept["feature_groups"] is None else tuple(kept["feature_groups"]),
            classes=None if kept["classes"] is None else np.array(kept["classes"]),
            about=kept["about"],
            null_loss=kept["null_loss"],
            deviations=None if kept["deviations"] is None else np.array(kept["deviations"], dtype=np.float64),
        )

    def __repr__(self) -> str:
        """One line with status, size, objective and gap."""
        size = f"{self.support.size} feature{'s' * (self.support.size != 1)}"
        if self.feature_groups is not None:
            n_groups, n_columns = len(self.terms), self.support.size
            size = f"{n_groups} group{'s' * (n_groups != 1)} of {n_columns} column{'s' * (n_columns != 1)}"
        return (
            f"Result({self.status.name}, {size}, objective={self.objective:.6g}, "
            f"lower_bound={self.lower_bound:.6g}, gap={self.gap:.2e}, seconds={self.seconds:.3g})"
        )

    def rows(self) -> list[tuple[str, str, str]]:
        """Names, coefficients and effects per standard deviation as text, by size of the effects; the intercept last.

        If standard deviations are not known, the largest coefficients come first.  Columns of a group stay together.
        """
        coef, names = self.coef[self.support], self.names
        effects = coef if self.deviations is None else coef * self.deviations
        texts = [f"{effect:.6g}" if self.deviations is not None else "" for effect in effects]
        groups = (
            self.support if self.feature_groups is None else [self.feature_groups[j] for j in self.support.tolist()]
        )
        _, group = np.unique(np.array(groups), return_inverse=True)
        largest = np.zeros(group.size)
        np.maximum.at(largest, group, np.abs(effects))
        order = np.lexsort((-np.abs(effects), group, -largest[group]))
        return [*((names[i], f"{coef[i]:.6g}", texts[i]) for i in order), ("(intercept)", f"{self.intercept:.6g}", "")]

    def proof_lines(self) -> tuple[str, str]:
        """Objective, bound and gap; and how the search ended."""
        return (
            f"objective {self.objective:.8g}, lower bound {self.lower_bound:.8g}, gap {self.gap:.2%}",
            f"{self.status.name}: {self.status.value} ({self.n_nodes} nodes, {self.seconds:.2f} s)",
        )

    def summary(self, width: int = 80) -> str:
        """Return the problem, the model and its bound as text.

        Parameters
        ----------
        width : the largest number of characters of a line

        Examples
        --------
        >>> import sparsest
        >>> data = sparsest.datasets.load_diabetes_quadratic()
        >>> result = sparsest.best_subset(data.X, data.y, k=2, feature_names=data.feature_names)
        >>> print(result.summary())  # doctest: +ELLIPSIS
        at most 2 features: squared loss, gamma = 0.0226244, an intercept, columns standardised, 442 × 64 data ...
          feature      coefficient  per standard deviation
          bmi              29.9069                 29.9069
          s5               27.4846                 27.4846
          (intercept)      152.133
        objective ...
        """
        model = text_table(self.heads, self.rows(), width)
        below = *self.group_lines(), *self.proof_lines(), *self.explained_lines()
        return "\n".join(
            [*wrapped([self.statement.sentence(self.feature_names)], width), *model, *wrapped(below, width)]
        )

    def group_lines(self) -> list[str]:
        """The chosen groups in a line; none where columns are not grouped."""
        if self.feature_groups is None:
            return []
        return [f"{len(self.terms)} group{'' if len(self.terms) == 1 else 's'}: {', '.join(self.terms)}"]

    def explained_lines(self) -> list[str]:
        """How much this model explains, how much any other could explain, and what to do."""
        found = shares_of(self.statement, self.objective, self.lower_bound, self.null_loss, self.support)
        if found is None:
            return []
        return [explained_sentence(self.statement, found), advice_sentence(self.statement, self.status.name, found)]

    def _repr_html_(self) -> str:
        """The parts of a report that do not need the data, for notebooks."""
        from sparsest.results.markup import fragment, paragraph, table

        sentence = proof_sentence(self.statement, self.status.name, self.gap)
        below = ". ".join((*self.proof_lines(), self.statement.sentence(self.feature_names))) + "."
        model = table(list(self.heads), self.rows(), right=(1, 2))
        meaning = [paragraph(" ".join(self.explained_lines()))] if self.explained_lines() else []
        return fragment(paragraph(sentence, strong=True), *meaning, model, paragraph(below))


def probabilities(score: Array) -> Array:
    """Probabilities of the two classes under the logistic loss."""
    positive = 1.0 / (1.0 + np.exp(-np.clip(score, -700.0, 700.0)))
    return np.column_stack([1.0 - positive, positive])
