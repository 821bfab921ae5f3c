"""Features with a controlled share of false ones: model-X knockoffs by hidimstat around an estimator of sparsest.

Knockoffs are copies of the columns that are as correlated as these, but know nothing of the response.  A feature counts
as found where its coefficient is larger than that of its copy (Candès, Fan, Janson and Lv 2018).  hidimstat makes the
copies and chooses the threshold; the coefficients are those of a best subset of columns and copies.

    pip install hidimstat && python examples/knockoffs.py
"""

from __future__ import annotations

import numpy as np
from hidimstat import ModelXKnockoff

import sparsest


def main(repetitions: int = 12) -> tuple[list[float], list[float]]:
    """Print the shares of false features among those found, and of true ones that are found; return them."""
    false, power = [], []
    for seed in range(repetitions):
        data = sparsest.datasets.make_toeplitz(n=500, p=100, k=20, rho=0.3, snr=6.0, rng=seed)
        # More features than expected: copies must be able to come in.
        model = sparsest.BestSubsetRegressor(k=40, method="relaxation")
        knockoffs = ModelXKnockoff(estimator=model, preconfigure_lasso_path=False, random_state=seed)
        knockoffs.fit_importance(data.X, data.y)
        found = np.flatnonzero(knockoffs.fdr_selection(fdr=0.2))
        n_true = np.intersect1d(found, data.support).size
        false.append(1.0 - n_true / found.size if found.size else 0.0)
        power.append(n_true / data.support.size)
    print(f"share of false features among those found: {np.mean(false):.2f} in the mean over {repetitions} data sets,")
    print(f"from {min(false):.2f} to {max(false):.2f}; it is controlled at 0.20 in the mean, not for each of them")
    print(f"share of the true features that are found: {np.mean(power):.2f}")
    return false, power


if __name__ == "__main__":
    main()
