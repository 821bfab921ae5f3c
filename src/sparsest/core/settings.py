"""The settings that users give, each declared once: its default, its check and its description.

Functions, estimators and the command line take the same settings by the same names.  :func:`documented` completes their
docstrings from these declarations, and the command line takes its defaults and help texts from them.  Signatures repeat
the defaults, because users and editors read them; ``tests/core/test_settings.py`` compares them with the declarations.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from sparsest.core.checks import flag, function, instance, number, optional, whole_number, word

METHODS = ("tree", "cuts", "relaxation", "subgradient", "local")
# Engines that search for cuts.
ENGINES = ("highs", "scip", "gurobi")
# Methods that rank features for screening.
RANKINGS = ("relaxation", "path")
# Rules by which cross-validation chooses among models.
SELECTIONS = ("best", "one_se")
# Squares of γ, of 1/γ and of the limit of coefficients must be numbers.
SMALLEST_GAMMA, _LARGEST_GAMMA = 1e-150, 1e150
_SMALLEST_COEF, _LARGEST_COEF = 1e-150, 1e150

_Target = TypeVar("_Target", bound=Callable[..., Any])
Check = Callable[[Any, str], Any]


class Setting(NamedTuple):
    """A setting, with the default, check and description that all functions share.

    Attributes
    ----------
    about : one sentence, without its full stop, for docstrings and ``--help``
    default : the default value
    check : from a value and the name of the setting to the value in its proper type; None for settings that are checked
        together with the data or with other settings
    more : what docstrings add to the sentence
    """

    about: str
    default: Any = None
    check: Check | None = None
    more: str = ""

    @property
    def help(self) -> str:
        """The sentence for the command line."""
        return f"{self.about[0].upper()}{self.about[1:]}."

    @property
    def description(self) -> str:
        """The text for a docstring."""
        return f"{self.about}.  {self.more}" if self.more else self.about


def check_gamma(value: Any, name: str = "gamma", or_else: str = "") -> float:
    """Return γ as a float."""
    gamma = number(value, name, above=0, finite=False, or_else=or_else)
    if not (SMALLEST_GAMMA <= gamma <= _LARGEST_GAMMA or gamma == float("inf")):
        raise ValueError(
            f"{name} must be between {SMALLEST_GAMMA:g} and {_LARGEST_GAMMA:g}, or inf for no ridge, got {gamma!r}"
        )
    return gamma


def check_max_coef(value: Any, name: str = "max_coef") -> float | None:
    """Return the limit of coefficients as a float, or None for no limit."""
    if value is None:
        return None
    limit = number(value, name, above=0, or_else="None")
    if not _SMALLEST_COEF <= limit <= _LARGEST_COEF:
        raise ValueError(
            f"{name} must be between {_SMALLEST_COEF:g} and {_LARGEST_COEF:g}, or None for coefficients of any size, "
            f"got {limit!r}"
        )
    return limit


SETTINGS: dict[str, Setting] = {
    # The data.
    "X": Setting("matrix, sparse matrix or data frame of shape (n, p)"),
    "y": Setting(
        "n responses; for a classification loss any two labels, the larger of which, in sorted order, is the positive "
        "class"
    ),
    "sample_weight": Setting("n weights, not negative; a weight of 2 equals a duplicated row"),
    "offset": Setting("n numbers that are added to ``x'w + b``"),
    "exposure": Setting("n numbers above zero that the mean is proportional to, for losses with a logarithmic link"),
    "feature_names": Setting("names of the columns; by default those of a data frame"),
    "class_weight": Setting('factors of the weights of each class, a dictionary or "balanced"'),
    # The problem.
    "k": Setting("largest number of features"),
    "l0_penalty": Setting(
        "price of a feature; give ``k``, ``l0_penalty`` or both",
        more="A list gives a price for each feature, or for each of the ``feature_groups``, a dictionary those of some",
    ),
    "feature_groups": Setting(
        "labels of p columns, texts or numbers; columns with the same label enter a model together",
        more="Then ``k`` and prices count groups.  Also a function from the name of a column to its label, or a "
        "dictionary of labels by name, where columns that are missing are not grouped",
    ),
    "structure": Setting("rules about which features may be chosen together: a :class:`sparsest.Structure`"),
    "gamma": Setting(
        'the ridge is ``‖w‖²/(2γ)``: a number, ``inf`` for no ridge, "auto" or "loo"',
        "auto",
        check_gamma,
        '"auto" shrinks coefficients by about a tenth: it is 10/n for the squared loss on standardised columns, see '
        ':func:`sparsest.core.ridge.default_gamma`.  "loo" takes the γ with the smallest leave-one-out error of the '
        "chosen support, for more observations than features; see :mod:`sparsest.subset.leave_one_out`",
    ),
    "max_coef": Setting(
        "upper limit of the absolute value of every coefficient, for columns of mean square 1 if they are standardised",
        None,
        check_max_coef,
        "That is ``|w_j| ≤ max_coef``, or ``|coef_j| · std_j ≤ max_coef`` for the data as given, which does not depend "
        "on units.  None sets no limit.  Smaller values give tighter bounds and make proofs possible without a ridge; "
        "the limit is a part of the problem, so choose it larger than any plausible coefficient",
    ),
    "lower": Setting(
        "smallest values of the coefficients, not above zero: a number, p numbers, or a dictionary from columns to "
        "numbers; for the data as given"
    ),
    "upper": Setting("largest values of the coefficients, not below zero, in the same forms as ``lower``"),
    "positive": Setting("whether all coefficients must be at least zero; the same as ``lower=0``", False, flag),
    "loss": Setting(
        '"squared", "epsilon_insensitive", "squared_epsilon_insensitive", "huber" or "quantile" for any y; "logistic", '
        '"hinge" or "squared_hinge" for two labels; "poisson", "negative_binomial" or "tweedie" for y ≥ 0, "gamma" for '
        "y > 0, with the mean ``e^{x'w + b}``; or an object of :mod:`sparsest.core.losses`",
        "squared",
    ),
    "epsilon": Setting("half width of the zone of the epsilon-insensitive losses, 0.1 by default"),
    "delta": Setting("size of the residual from which Huber's loss is linear, 1.35 by default"),
    "quantile": Setting("the quantile, between 0 and 1, that the quantile loss predicts, 0.5 by default"),
    "theta": Setting("parameter θ of the negative binomial loss, 1 by default: the variance is ``μ + μ²/θ``"),
    "fit_intercept": Setting("whether to fit an intercept, which is not penalised", True, flag),
    "standardize": Setting(
        "whether to solve for columns of mean square 1", True, flag, "Coefficients are for the data as given"
    ),
    "include": Setting("columns that must be in the model, by number or by name", ()),
    "exclude": Setting("columns that must not be in the model, by number or by name", ()),
    # The search.
    "method": Setting(
        'how to solve the problem: "tree", "cuts", "relaxation", "subgradient" or "local"',
        METHODS[0],
        partial(word, words=METHODS),
        'The methods "tree" and "cuts" search for a proof; see the table of methods in the README',
    ),
    "start": Setting("an earlier ``Result`` or a list of columns to start from"),
    "screen": Setting(
        "number of features that screening keeps; the method is run on these features only",
        None,
        optional(whole_number, least=1),
        'If ``trace["screening"]["safe"]`` is true, no better model has one of the others; the certificate is for all '
        "features in either case",
    ),
    "screen_by": Setting(
        'what ranks features for screening: the Boolean "relaxation", or the order in which they enter a Lasso "path"',
        RANKINGS[0],
        partial(word, words=RANKINGS),
    ),
    "time_limit": Setting(
        "seconds for each model, without those for compiling kernels", 60.0, partial(number, above=0, finite=False)
    ),
    "gap_tol": Setting(
        "relative gap between objective and lower bound at which the status is OPTIMAL",
        1e-4,
        partial(number, least=0, below=1),
    ),
    "engine": Setting(
        'the solver of the method "cuts": "highs" (default), "scip" or "gurobi"', None, partial(word, words=ENGINES)
    ),
    "n_jobs": Setting(
        'number of threads of the method "tree"; all cores by default',
        None,
        optional(whole_number, least=1),
        "In a worker of joblib or Dask the default is one",
    ),
    "node_limit": Setting(
        'largest number of nodes of the methods "tree" and "cuts", 10 million by default',
        None,
        partial(whole_number, least=1, or_else="None"),
    ),
    "max_memory": Setting(
        'bytes for open nodes, proof, copied columns and Gram matrix of the method "tree"; by default half of the '
        "available memory, but at least the smaller of 2e9 and an eighth of all memory",
        None,
        partial(number, above=0, finite=False, or_else="None"),
    ),
    "callback": Setting("called with every event of the search; returning True stops it", None, optional(function)),
    "verbose": Setting("whether to show incumbent, bound, gap and nodes while the search runs", False, flag),
    "options": Setting(
        "further settings of the method, by name: the other fields of its class",
        None,
        partial(instance, kind=dict, or_else="None"),
    ),
    # Penalties and their paths.
    "penalty": Setting('"l1", "elastic_net", "mcp" or "scad"; or an object of :mod:`sparsest.core.penalties`', "l1"),
    "l1_ratio": Setting("share of the l1 part, in (0, 1], for the elastic net, MCP and SCAD; the rest is a ridge", 1.0),
    "concavity": Setting(
        "the g of MCP (default 3) or SCAD (default 3.7), relative to the curvature of the loss",
        more="See the notes of :func:`sparsest.penalty_path`",
    ),
    "penalty_factor": Setting("factor of alpha for every feature, used as it is; 0 means never penalised"),
    "tol": Setting(
        "duality gap relative to the loss of the constant model; for MCP and SCAD violation relative to alpha",
        1e-5,
        partial(number, above=0, below=1),
    ),
    # Cross-validation.
    "cv": Setting(
        "the number of folds (5 by default), a splitter of scikit-learn, or pairs of row numbers; one pair is one "
        "validation set.  A number divides the rows in a random order that is the same in every call; for series give "
        "``TimeSeriesSplit()``"
    ),
    "scoring": Setting(
        "a scorer's name or a scorer; by default the negative deviance, which is the mean squared error for the "
        "squared loss and twice the log loss for the logistic one"
    ),
    "selection": Setting(
        '"best" for the best mean score, or "one_se" for the simplest model within one standard error of it',
        SELECTIONS[0],
        partial(word, words=SELECTIONS),
    ),
}


def checked(name: str, value: Any) -> Any:
    """Return the value of a setting in its proper type, or raise a ValueError that says what to give."""
    check = SETTINGS[name].check
    assert check is not None
    return check(value, name)


def documented(target: _Target, text: str | None = None, own: Mapping[str, Setting] | None = None) -> _Target:
    """Add the parameters that a docstring does not describe to its section "Parameters", as they are declared here.

    Parameters
    ----------
    target : a function, or a class whose constructor has the parameters
    text : the docstring to complete; by default that of the target
    own : settings that differ from those declared here
    """
    given = target.__doc__ if text is None else text
    # Without docstrings, as with python -OO, there is nothing to complete.
    if given is None:
        return target
    before, section, after = _sections(inspect.cleandoc(given))
    entries = _entries(section)
    known = SETTINGS | dict(own or {})
    names = inspect.signature(target).parameters
    described = [entries[name] if name in entries else _entry(name, known[name]) for name in names]
    target.__doc__ = "\n".join([before, *dict.fromkeys(described), after]).rstrip()
    return target


def _sections(text: str) -> tuple[str, str, str]:
    """A docstring up to the heading of its parameters, their descriptions, and the rest.

    If it has no such section, one is inserted before its first section, or at its end.
    """
    heading = "Parameters\n----------"
    before, found, rest = text.partition(f"{heading}\n")
    if found:
        section, _, after = rest.partition("\n\n")
        return f"{before}{heading}", section, f"\n{after}"
    first = re.search(r"\n\n[A-Z][A-Za-z ]+\n-+\n", text)
    at = len(text) if first is None else first.start()
    return f"{text[:at]}\n\n{heading}", "", text[at + 1 :]


def _entries(section: str) -> dict[str, str]:
    """The entries of a section by the names of their parameters, several of which may share one."""
    found: dict[str, str] = {}
    entry: list[str] = []
    for line in [*section.splitlines(), ""]:
        if entry and not line.startswith(" "):
            names = entry[0].partition(" : ")[0].split(", ")
            found |= dict.fromkeys(names, "\n".join(entry))
            entry = []
        if line:
            entry.append(line)
    return found


def _entry(name: str, setting: Setting) -> str:
    return textwrap.fill(
        f"{name} : {setting.description}",
        116,
        subsequent_indent=" " * 4,
        break_long_words=False,
        break_on_hyphens=False,
    )
