"""
Exact selection against the Lasso on correlated data
====================================================

Ten of 200 features matter, and neighbouring features are correlated (ρ = 0.8). How many of the features that a method
chooses are true? The picture is the mean over ten data sets.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsest

sizes = np.arange(1, 21)


def along_path(path):
    """For each size, the support of the last model of a path with at most that many features."""
    return [np.flatnonzero(path.coefs[:, [np.flatnonzero(path.n_nonzero <= k)[-1]]].toarray()) for k in sizes]


# %%
# Models of every size up to 20: best subsets by the relaxation, refitted and improved by swaps, and the paths of Lasso
# and MCP.
true = {"best subset": [], "MCP": [], "Lasso": []}
for seed in range(10):
    data = sparsest.datasets.make_toeplitz(n=150, p=200, k=10, rho=0.8, snr=4.0, rng=seed)
    exact = sparsest.best_subset_path(data.X, data.y, sizes, method="relaxation")
    supports = {
        "best subset": [model.support for model in exact],
        "MCP": along_path(sparsest.penalty_path(data.X, data.y, "mcp")),
        "Lasso": along_path(sparsest.penalty_path(data.X, data.y, "l1")),
    }
    for name, chosen in supports.items():
        true[name].append([sparsest.metrics.true_features(support, data.support) for support in chosen])
means = {name: np.mean(counts, axis=0) for name, counts in true.items()}
for name, mean in means.items():
    print(f"{name}: {mean[9]:.1f} true features with ten chosen, {mean[19]:.1f} with twenty")

# %%
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.plot([0, 10, 20], [0, 10, 10], color="black", linestyle=":", linewidth=1, label="all chosen features are true")
for (name, mean), colour, line in zip(means.items(), ["#0072b2", "#009e73", "#d55e00"], ["-", "--", "-."], strict=True):
    ax.plot(sizes, mean, line, color=colour, linewidth=2, label=name)
ax.set(xlabel="features chosen", ylabel="true features among them", xlim=(0, 20), ylim=(0, 10.5))
ax.legend(loc="lower right")
plt.show()

# %%
# A single model can be proved to be the best, here for eight features and a ridge that is stronger than the default.
result = sparsest.best_subset(data.X, data.y, k=8, gamma=2 / 150)
print(result)
