"""Which gradients have to be computed, and which features will be needed soon, from gradients at earlier points.

With ω the weights and θ the derivatives of the losses, points are kept as ``τ = θ/√ω``.  Gradients g, g' known at two
points τ', τ'' bound the one at τ: ``|X_j'θ| ≤ |s g + t g'| + ‖X_j‖ ‖τ - sτ' - tτ''‖`` for all s and t, with the norm
``‖x‖² = Σ ω x²`` of columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.runtime.jit import dispatched, kernel

# Rounding errors of the differences of squares in the bound, relative to the size of τ.
_BOUND_ROUNDING = 1e-7
# Points whose angle's squared sine is less than this count as parallel.
_PARALLEL = 1e-10
# Features whose extrapolated gradient exceeds this share of its limit are foreseen.
FORESEEN_SHARE = 0.99


class Memory(NamedTuple):
    """Stored gradients at earlier points.

    Attributes
    ----------
    value, earlier : every feature's gradient where it was computed last, and at the alpha before that.
    reference, before : indices of these points; the number of points stands for none.  They are unsigned, because
        signed indices take a third longer.
    points, products, alphas : the points, their inner products, and the alphas they belong to.
    latest : index of the last point.
    """

    value: Array
    earlier: Array
    reference: NDArray[np.uint8]
    before: NDArray[np.uint8]
    points: Array
    products: Array
    alphas: Array
    latest: Indices


class BothSides(NamedTuple):
    """Coefficients may have any sign."""

    def push(self, j, grad):
        """How strongly a gradient pushes the feature away from zero."""
        return np.abs(grad)


class OneSided(NamedTuple):
    """Some coefficients may have one sign only: 1 where the sign is allowed, else 0."""

    up: Array
    down: Array

    def push(self, j, grad):
        """How strongly a gradient pushes the feature away from zero, to a side where it may go."""
        return np.maximum(-grad * self.up[j], grad * self.down[j])


@dispatched
def push(self: Any, j: int, grad: float) -> float:
    """How strongly a gradient pushes a feature away from zero."""
    return self.push(j, grad)


@kernel
def inner_products(memory, tau):
    """The inner products of τ with all points, and with itself."""
    inner, square = np.empty(memory.alphas.size), 0.0
    for a in range(inner.size):
        point, product = memory.points[a], 0.0
        for i in range(tau.size):
            product += point[i] * tau[i]
        inner[a] = product
    for i in range(tau.size):
        square += tau[i] * tau[i]
    return inner, square


@kernel
def spans(products, inner, square):
    """Project τ on one or two points: ``‖τ - first·τ_a - second·τ_b‖ ≤ distance``, for all a and b.

    The last a and b stand for no point.
    """
    m, slack = inner.size, _BOUND_ROUNDING * np.sqrt(square)
    first, second, distance = np.zeros((m + 1, m + 1)), np.zeros((m + 1, m + 1)), np.empty((m + 1, m + 1))
    for b in range(m + 1):
        distance[m, b] = np.inf
    for a in range(m):
        alone = inner[a] / products[a, a]
        for b in range(m):
            x, y = alone, 0.0
            det = products[a, a] * products[b, b] - products[a, b] * products[a, b]
            if a != b and det > _PARALLEL * products[a, a] * products[b, b]:
                x = (products[b, b] * inner[a] - products[a, b] * inner[b]) / det
                y = (products[a, a] * inner[b] - products[a, b] * inner[a]) / det
            first[a, b], second[a, b] = x, y
            rest = max(square - x * inner[a] - y * inner[b], 0.0)
            distance[a, b] = np.sqrt(rest) + slack * (1.0 + abs(x) + abs(y))
        first[a, m], distance[a, m] = first[a, a], distance[a, a]
    return first, second, distance


@kernel
def forget(value, earlier, reference, before, j, oldest, m):
    """Forget what is known of a feature only at the oldest point; m stands for no point."""
    if before[j] == oldest:
        before[j] = m
    if reference[j] == oldest:
        reference[j], value[j], before[j] = before[j], earlier[j], m


@kernel
def unsettled(memory, inner, square, norms, slope, sides, alpha, outside, out):
    """List the features outside whose gradients may push more than ``λ·slope`` in ``out``; returns their number.

    ``inner`` and ``square`` are the inner products of τ.  What was known only at the oldest point is forgotten.
    """
    m, count = inner.size, 0
    oldest = (memory.latest[0] + 1) % m
    first, second, distance = spans(memory.products, inner, square)
    value, earlier, reference, before = memory.value, memory.earlier, memory.reference, memory.before
    for j in range(outside.size):
        a, b = reference[j], before[j]
        if outside[j]:
            guess = push(sides, j, first[a, b] * value[j] + second[a, b] * earlier[j])
            bound = guess + distance[a, b] * norms[j]
            if not bound <= alpha * slope[j]:
                out[count] = j
                count += 1
        forget(value, earlier, reference, before, j, oldest, m)
    return count


@kernel
def remember(memory, tau, inner, square, alpha, needed, count, fresh):
    """Let τ replace the oldest point, with the gradients that were computed there."""
    m = memory.alphas.size
    place = (memory.latest[0] + 1) % m
    for i in range(tau.size):
        memory.points[place, i] = tau[i]
    for a in range(m):
        memory.products[place, a] = memory.products[a, place] = inner[a]
    memory.products[place, place] = max(square, 1e-300)
    memory.alphas[place], memory.latest[0] = alpha, place
    note(memory, needed, count, fresh)


@kernel
def note(memory, needed, count, fresh):
    """Store gradients of features at the last point."""
    m, place = memory.alphas.size, memory.latest[0]
    for q in range(count):
        j = needed[q]
        a = memory.reference[j]
        # What was computed before for the same alpha says nothing about how gradients change with it.
        if a < m and memory.alphas[a] != memory.alphas[place]:
            memory.earlier[j], memory.before[j] = memory.value[j], a
        memory.value[j], memory.reference[j] = fresh[q], place


@kernel
def foreseen(memory, slope, sides, alpha, outside, least, out):
    """List the features outside with predicted gradients near their limits at λ in ``out``; returns their number.

    Features with fewer than ``least`` (one or two) known gradients are left out.
    """
    m, count = memory.alphas.size, 0
    # From a point to λ, and that as a share of the way from one point to another.
    steps, shares = np.empty(m), np.zeros((m, m + 1))
    for a in range(m):
        steps[a] = memory.alphas[a] - alpha
        for b in range(m):
            if memory.alphas[b] > memory.alphas[a]:
                shares[a, b] = steps[a] / (memory.alphas[b] - memory.alphas[a])
    value, earlier, reference, before = memory.value, memory.earlier, memory.reference, memory.before
    for j in range(outside.size):
        a, b = reference[j], before[j]
        if outside[j] and a < m and (b < m or least == 1):
            # Gradients seldom move faster than λ; concave penalties make solutions jump, and gradients with them.
            most = abs(steps[a]) * slope[j]
            guess = value[j] + min(max((value[j] - earlier[j]) * shares[a, b], -most), most)
            if push(sides, j, guess) > FORESEEN_SHARE * alpha * slope[j]:
                out[count] = j
                count += 1
    return count
