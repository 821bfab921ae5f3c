"""Products with stored columns of the Gram matrix for regions with a structure."""

from __future__ import annotations

from sparsest.runtime.jit import kernel

# Entries of a row that stay in the cache while the rows are added up.
_BLOCK = 2048


@kernel
def combined_rows(rows, chosen, weights, out):
    """``out = Σ_i weights_i rows[chosen_i]``."""
    m = out.size
    for begin in range(0, m, _BLOCK):
        end = min(begin + _BLOCK, m)
        block = out[begin:end]
        for j in range(end - begin):
            block[j] = 0.0
        for i in range(chosen.size):
            weight, row = weights[i], rows[chosen[i], begin:end]
            for j in range(end - begin):
                block[j] += weight * row[j]
