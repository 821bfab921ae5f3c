"""The penalties of the paths: scalar mathematics of ``φ(w; λ)`` that never sees the data matrix.

Every penalty is a NamedTuple of its parameters.  The bodies use nothing but arithmetic and NumPy ufuncs, so
the same text serves whole arrays here and, compiled, single numbers in the kernels (where a choice by ``np.where``
would cost an array: products with conditions do not).  With ``a = |w|``:

===============  ============================================================================================
``l1``           ``λa``
``elastic_net``  ``λ(ρa + (1-ρ)a²/2)``
``mcp``          ``λa - a²/2g`` up to ``a = gλ``, then ``gλ²/2`` (g > 1)
``scad``         ``λa`` up to ``λ``; ``(gλa - (a² + λ²)/2)/(g-1)`` up to ``gλ``; then ``λ²(g+1)/2`` (g > 2)
===============  ============================================================================================

:class:`WithRidge` adds the ridge of the elastic net to a concave penalty, and :class:`Rescaled` lets a penalty act on
``v w`` with v the curvature of the loss along a column.  :class:`Bounded` keeps coefficients within limits.  The last
two take records of :mod:`sparsest.core.strengths` for λ.

``prox(z, λ, t)`` is the global minimiser of ``(w - z)²/2 + t φ(w; λ)``, also for steps ``t`` so long that the
sum is not convex.  ``threshold(λ)`` is the slope at zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sparsest.core.checks import number, word
from sparsest.core.kernels.descent import prox, threshold, two_sided_distance
from sparsest.runtime.jit import derivative, second_derivative, value


@runtime_checkable
class Penalty(Protocol):
    """What every penalty offers; ``w``, ``z`` and ``lam`` broadcast against each other.

    Attributes
    ----------
    name : the name by which users choose it.
    convex : whether it is convex.  Then it must be the sum of an absolute value and a square, for which paths compute
        duality gaps.
    """

    name: str
    convex: bool

    def concavity_bound(self, lam: Any) -> Any:
        """The smallest κ ≥ 0 with ``φ + κw²/2`` convex: the most negative curvature with its sign turned."""

    def value(self, w: Any, lam: Any) -> Any:
        """``φ(w; λ)``."""

    def derivative(self, w: Any, lam: Any) -> Any:
        """``φ'(w; λ)`` away from zero, and 0 at zero."""

    def second_derivative(self, w: Any, lam: Any) -> Any:
        """``φ''(w; λ)`` away from the kinks."""

    def threshold(self, lam: Any) -> Any:
        """The slope at zero from the right."""

    def prox(self, z: Any, lam: Any, step: Any) -> Any:
        """The minimiser of ``(w - z)²/2 + step φ(w; λ)``."""

    def distance(self, grad: float, w: float, lam: Any) -> float:
        """The distance of ``-grad`` from the subdifferential at w; inside, minus the distance to its boundary."""


class L1(NamedTuple):
    """The Lasso's ``λ|w|``."""

    name = "l1"
    convex = True
    distance = two_sided_distance

    def concavity_bound(self, lam):
        return 0.0 * lam

    def value(self, w, lam):
        return lam * np.abs(w)

    def derivative(self, w, lam):
        return lam * np.sign(w)

    def second_derivative(self, w, lam):
        return 0.0 * w

    def threshold(self, lam):
        return lam

    def prox(self, z, lam, step):
        return np.sign(z) * np.maximum(np.abs(z) - step * lam, 0.0)


class ElasticNet(NamedTuple):
    """The elastic net's ``λ(ρ|w| + (1-ρ)w²/2)`` with ``0 < ρ < 1``."""

    l1_ratio: float

    name = "elastic_net"
    convex = True
    distance = two_sided_distance

    def concavity_bound(self, lam):
        return 0.0 * lam

    def value(self, w, lam):
        a = np.abs(w)
        return lam * a * (self.l1_ratio + 0.5 * (1.0 - self.l1_ratio) * a)

    def derivative(self, w, lam):
        return lam * (self.l1_ratio * np.sign(w) + (1.0 - self.l1_ratio) * w)

    def second_derivative(self, w, lam):
        return lam * (1.0 - self.l1_ratio) + 0.0 * w

    def threshold(self, lam):
        return self.l1_ratio * lam

    def prox(self, z, lam, step):
        soft = np.sign(z) * np.maximum(np.abs(z) - step * self.l1_ratio * lam, 0.0)
        return soft / (1.0 + step * (1.0 - self.l1_ratio) * lam)


class MCP(NamedTuple):
    """The minimax concave penalty of Zhang (2010): the slope falls from λ to 0 over ``[0, gλ]``."""

    concavity: float

    name = "mcp"
    convex = False
    distance = two_sided_distance

    def concavity_bound(self, lam):
        return (lam > 0.0) / self.concavity

    def value(self, w, lam):
        a = np.minimum(np.abs(w), self.concavity * lam)
        return a * (lam - 0.5 * a / self.concavity)

    def derivative(self, w, lam):
        return np.sign(w) * np.maximum(lam - np.abs(w) / self.concavity, 0.0)

    def second_derivative(self, w, lam):
        return -1.0 * (np.abs(w) < self.concavity * lam) / self.concavity

    def threshold(self, lam):
        return lam

    def prox(self, z, lam, step):
        g, a = self.concavity, np.abs(z)
        room = 1.0 - step / g
        # For steps from g on the sum is concave up to gλ: its minimum is at 0 or at z, as in hard thresholding.
        firm = np.sign(z) * np.maximum(a - step * lam, 0.0) / np.maximum(room, 1e-300) * (room > 0.0)
        edge = lam * np.maximum(g, np.sqrt(g * step))
        return (a <= edge) * firm + (a > edge) * z


class SCAD(NamedTuple):
    """Fan and Li's (2001) smoothly clipped absolute deviation: slope λ up to λ, falling to 0 at gλ."""

    concavity: float

    name = "scad"
    convex = False
    distance = two_sided_distance

    def concavity_bound(self, lam):
        return (lam > 0.0) / (self.concavity - 1.0)

    def value(self, w, lam):
        g, a = self.concavity, np.abs(w)
        m = np.minimum(np.maximum(a, lam), g * lam)
        return lam * np.minimum(a, lam) + (m - lam) * (g * lam - 0.5 * (m + lam)) / (g - 1.0)

    def derivative(self, w, lam):
        g, a = self.concavity, np.abs(w)
        return np.sign(w) * np.minimum(lam, np.maximum(g * lam - a, 0.0) / (g - 1.0))

    def second_derivative(self, w, lam):
        g, a = self.concavity, np.abs(w)
        return -1.0 * ((a > lam) & (a < g * lam)) / (g - 1.0)

    def threshold(self, lam):
        return lam

    def prox(self, z, lam, step):
        g, a = self.concavity, np.abs(z)
        room = g - 1.0 - step
        soft = np.maximum(a - step * lam, 0.0)
        middle = np.maximum((g - 1.0) * a - step * g * lam, 0.0) / np.maximum(room, 1e-300)
        bent = (room > 0.0) & (a > lam * (1.0 + step))
        # Steps from g-1 on leave no minimum between λ and gλ; the two others tie at the edge.
        long = step > g + 1.0
        tie = (step <= g + 1.0) * 0.5 * (g + 1.0 + step) + long * np.sqrt(step * (g + 1.0))
        edge = lam * np.maximum(g, (room <= 0.0) * tie)
        near = np.sign(z) * (soft + bent * (np.minimum(middle, a) - soft))
        return (a <= edge) * near + (a > edge) * z


class WithRidge(NamedTuple):
    """``φ(w; ρλ) + (1-ρ)λw²/2`` of a concave φ, with ``0 < ρ < 1``: for correlated features, as the elastic net."""

    penalty: Any
    l1_ratio: float

    convex = False
    distance = two_sided_distance
    name = property(lambda self: self.penalty.name)

    def concavity_bound(self, lam):
        bound = self.penalty.concavity_bound(self.l1_ratio * lam) - (1.0 - self.l1_ratio) * lam
        return np.maximum(bound, 0.0)

    def value(self, w, lam):
        return value(self.penalty, w, self.l1_ratio * lam) + 0.5 * (1.0 - self.l1_ratio) * lam * w * w

    def derivative(self, w, lam):
        return derivative(self.penalty, w, self.l1_ratio * lam) + (1.0 - self.l1_ratio) * lam * w

    def second_derivative(self, w, lam):
        return second_derivative(self.penalty, w, self.l1_ratio * lam) + (1.0 - self.l1_ratio) * lam

    def threshold(self, lam):
        return threshold(self.penalty, self.l1_ratio * lam)

    def prox(self, z, lam, step):
        curvature = 1.0 + step * (1.0 - self.l1_ratio) * lam
        return prox(self.penalty, z / curvature, self.l1_ratio * lam, step / curvature)


class Rescaled(NamedTuple):
    """``φ(vw; λ)/v``, whose slope is ``φ'(vw; λ)``; v > 0 is the curvature of the loss along a column.

    Its methods take records with λ and v for λ.  With v that of the solution, φ acts on coefficients in the units in
    which the loss has curvature 1: a concavity means for every loss what it means for the squared one, of which all v
    are 1 (Breheny and Huang, 2011).  As v depends on the solution, solutions satisfy an estimating equation and are not
    the minima of one objective.
    """

    penalty: Any

    convex = property(lambda self: self.penalty.convex)
    distance = two_sided_distance
    name = property(lambda self: self.penalty.name)

    def concavity_bound(self, lam):
        return lam.curvature * self.penalty.concavity_bound(lam.lam)

    def value(self, w, lam):
        return value(self.penalty, lam.curvature * w, lam.lam) / lam.curvature

    def derivative(self, w, lam):
        return derivative(self.penalty, lam.curvature * w, lam.lam)

    def second_derivative(self, w, lam):
        return lam.curvature * second_derivative(self.penalty, lam.curvature * w, lam.lam)

    def threshold(self, lam):
        return threshold(self.penalty, lam.lam)

    def prox(self, z, lam, step):
        return prox(self.penalty, lam.curvature * z, lam.lam, lam.curvature * step) / lam.curvature


class Bounded(NamedTuple):
    """A penalty of coefficients within limits ``l ≤ w ≤ u`` that include zero: φ there, and infinite elsewhere.

    Its methods take records with λ, v, l and u for λ; those of ``value`` and the derivatives assume that w is within
    the limits.

    Attributes
    ----------
    penalty : φ, of the type :class:`Rescaled`; without rescaling v is 1.
    """

    penalty: Any

    convex = property(lambda self: self.penalty.convex)
    name = property(lambda self: self.penalty.name)

    def concavity_bound(self, lam):
        return self.penalty.concavity_bound(lam)

    def value(self, w, lam):
        return value(self.penalty, w, lam)

    def derivative(self, w, lam):
        return derivative(self.penalty, w, lam)

    def second_derivative(self, w, lam):
        return second_derivative(self.penalty, w, lam)

    def threshold(self, lam):
        return threshold(self.penalty, lam)

    def prox(self, z, lam, step):
        far = np.minimum(np.maximum(prox(self.penalty, z, lam, step), lam.lower), lam.upper)
        # Where the sum is not convex and its minimum is beyond a limit, a local minimum near zero may be better.
        bend = np.maximum(second_derivative(self.penalty, 0.0, lam), 0.0)
        soft = np.sign(z) * np.maximum(np.abs(z) - step * threshold(self.penalty, lam), 0.0) / (1.0 + step * bend)
        near = np.minimum(np.maximum(soft, lam.lower), lam.upper)
        gain = 0.5 * (far - near) * (far + near - 2.0 * z)
        better = gain + step * (value(self.penalty, far, lam) - value(self.penalty, near, lam)) > 0.0
        return far + better * (near - far)

    def distance(self, grad, w, lam):
        if w == 0.0:
            pushed = max(-grad * (lam.upper > 0.0), grad * (lam.lower < 0.0))
            return pushed - threshold(self.penalty, lam)
        slope = grad + derivative(self.penalty, w, lam)
        if w >= lam.upper:
            return slope
        return -slope if w <= lam.lower else abs(slope)


PENALTIES: dict[str, type] = {penalty.name: penalty for penalty in (L1, ElasticNet, MCP, SCAD)}

# Default and smallest admissible concavity.
_CONCAVITIES = {"mcp": (3.0, 1.0), "scad": (3.7, 2.0)}
# A concavity with which both are the Lasso.
_NEARLY_CONVEX = 1e10


def make_penalty(name: str | Penalty, l1_ratio: float = 1.0, concavity: float | None = None) -> Penalty:
    """Return the penalty of that name.

    Parameters
    ----------
    name : {"l1", "elastic_net", "mcp", "scad"}, or a penalty, which is returned as it is.
    l1_ratio : share of the l1 part, in (0, 1]; the rest is a ridge, so 1 means no ridge.
    concavity : the g of MCP (default 3, must exceed 1) or SCAD (default 3.7, must exceed 2).
    """
    share = number(l1_ratio, "l1_ratio", above=0, most=1)
    if not isinstance(name, str | type) and isinstance(name, Penalty):
        return name
    name = word(name, "penalty", words=PENALTIES)
    if share != 1.0 and name == "l1":
        raise ValueError(f"l1_ratio = {share:g} needs penalty='elastic_net', 'mcp' or 'scad', got penalty='l1'")
    if name not in _CONCAVITIES:
        if concavity is not None:
            raise ValueError(f"penalty {name!r} has no concavity; it belongs to {' and '.join(_CONCAVITIES)}")
        return L1() if share == 1.0 else ElasticNet(share)
    default, least = _CONCAVITIES[name]
    g = default if concavity is None else number(concavity, f"the concavity of {name!r}", above=least)
    made: Penalty = PENALTIES[name](g)
    return made if share == 1.0 else WithRidge(made, share)


def path_penalty(name: str | Penalty, l1_ratio: float = 1.0, concavity: float | None = None) -> Penalty:
    """The penalty of a path: a concave one that is given by its name is rescaled by the curvature of the loss.

    A penalty that is given as an object is used as it is, so that its concavity does not depend on the loss.
    Parameters are those of :func:`make_penalty`.
    """
    made = make_penalty(name, l1_ratio, concavity)
    return Rescaled(made) if isinstance(name, str) and not made.convex else made


def wrapped_penalty(plain: Penalty, *, rescaled: bool, bounded: bool) -> Penalty:
    """A plain penalty that is rescaled by curvatures, or of coefficients within limits, or both."""
    if bounded:
        return Bounded(Rescaled(plain))
    return Rescaled(plain) if rescaled else plain


def nearly_convex(penalty: Penalty) -> Penalty | None:
    """The penalty with a concavity so large that it is convex up to rounding; None if it has no concavity."""
    if isinstance(penalty, MCP | SCAD):
        return penalty._replace(concavity=_NEARLY_CONVEX)
    if not isinstance(penalty, WithRidge | Rescaled | Bounded):
        return None
    inner = nearly_convex(penalty.penalty)
    return None if inner is None else penalty._replace(penalty=inner)


def plain_penalty(penalty: Penalty) -> Penalty:
    """The penalty that takes plain numbers for λ, without limits and rescaling."""
    while isinstance(penalty, Rescaled | Bounded):
        penalty = penalty.penalty
    return penalty
