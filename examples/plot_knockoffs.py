"""
Features with a controlled share of false ones: knockoffs
=========================================================

Model-X knockoffs (Candès, Fan, Janson and Lv, 2018) add a copy of every column to the data. The copies are correlated
like the columns, but were made without the response. A feature counts as found if its coefficient is sufficiently
larger than that of its copy. hidimstat makes the copies and chooses the threshold; the coefficients are those of a
best subset of columns and copies. It needs ``pip install hidimstat``.
"""

import matplotlib.pyplot as plt
import numpy as np
from hidimstat import ModelXKnockoff

import sparsest

# %%
# Eight data sets with 20 true features among 100. The model has 40 features, more than there are true ones, so that it
# also contains copies.
n_data_sets, target = 8, 0.2
false, found_share = [], []
for seed in range(n_data_sets):
    data = sparsest.datasets.make_toeplitz(n=500, p=100, k=20, rho=0.3, snr=6.0, rng=seed)
    model = sparsest.BestSubsetRegressor(k=40, method="relaxation")
    knockoffs = ModelXKnockoff(estimator=model, preconfigure_lasso_path=False, random_state=seed)
    knockoffs.fit_importance(data.X, data.y)
    found = np.flatnonzero(knockoffs.fdr_selection(fdr=target))
    false.append(sparsest.metrics.false_discovery_rate(found, data.support))
    found_share.append(sparsest.metrics.accuracy(found, data.support))
print(f"false features among those found: {np.mean(false):.2f} on average, from {min(false):.2f} to {max(false):.2f}")
print(f"true features that were found: {np.mean(found_share):.2f} on average")

# %%
# The share of false features is controlled on average over data sets, not for each of them.
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
places = np.arange(n_data_sets)
ax.bar(places - 0.2, found_share, width=0.4, color="#0072b2", label="true features found")
ax.bar(places + 0.2, false, width=0.4, color="#d55e00", label="false among those found")
ax.axhline(target, color="black", linestyle="--", linewidth=1, label="target, on average")
ax.set(xlabel="data set", ylabel="share", ylim=(0, 1.05), xticks=places)
ax.legend(loc="center right")
plt.show()
