"""
The phase transition of exact selection
=======================================

With more rows, exact selection finds the true features all of a sudden: below a certain number of rows it finds few of
them, above it all. Bertsimas and Van Parys (2020) call it a phase transition. This is a small version in one plot; the
studies of the paper are run by ``sparsest study``.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsest

p, k = 200, 10
rows = [20, 40, 60, 80, 100, 130, 160, 200, 250]
seeds = range(6)
shares = {name: np.zeros((len(rows), len(seeds))) for name in ("best subset", "MCP", "Lasso")}
for i, n in enumerate(rows):
    for seed in seeds:
        data = sparsest.datasets.make_toeplitz(n=n, p=p, k=k, rho=0.5, snr=6.0, rng=seed)
        supports = {
            "best subset": sparsest.best_subset(
                data.X, data.y, k=k, gamma=1.0 / np.sqrt(n), method="relaxation"
            ).support,
            "MCP": np.flatnonzero(sparsest.penalty_path(data.X, data.y, "mcp", n_features=k).coefs[:, [-1]].toarray()),
            "Lasso": np.flatnonzero(sparsest.penalty_path(data.X, data.y, "l1", n_features=k).coefs[:, [-1]].toarray()),
        }
        for name, support in supports.items():
            shares[name][i, seed] = sparsest.metrics.accuracy(support, data.support)

# %%
# All methods choose ten features; what differs is how many of them are true.
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for (name, share), colour, line in zip(
    shares.items(), ["#0072b2", "#009e73", "#d55e00"], ["-", "--", ":"], strict=True
):
    ax.plot(rows, share.mean(axis=1), line, marker="o", color=colour, label=name)
ax.set(xlabel="rows", ylabel="share of the true features found", ylim=(0, 1.05))
ax.legend(loc="lower right")
plt.show()
