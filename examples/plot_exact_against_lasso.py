"""
Exact selection against the Lasso on correlated data
====================================================

Ten of 200 features matter, and neighbouring features are correlated. How many true features does each method have when
it has taken a given number of false ones? The best method ends at the upper left.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsest

data = sparsest.datasets.make_toeplitz(n=150, p=200, k=10, rho=0.8, snr=4.0, rng=1)

# %%
# Models of every size up to 20: best subsets by the relaxation, refitted and improved by swaps, and the paths
# of Lasso and MCP.
sizes = range(1, 21)
exact = sparsest.best_subset_path(data.X, data.y, sizes, method="relaxation")
lasso = sparsest.penalty_path(data.X, data.y, "l1", n_features=40)
mcp = sparsest.penalty_path(data.X, data.y, "mcp", n_features=40)

for name, support in [
    ("best subset", exact[9].support),
    ("Lasso", np.flatnonzero(lasso.at(lasso.alpha_of(10)).coef)),
    ("MCP", np.flatnonzero(mcp.at(mcp.alpha_of(10)).coef)),
]:
    true = sparsest.metrics.true_features(support, data.support)
    print(f"{name}: {true} of {support.size} features are true")

# %%
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
paths = {"best subset": exact, "MCP": mcp, "Lasso": lasso}
sparsest.plots.TrueFalseDisplay.from_results(paths, data.support).plot(ax)
ax.set_xlim(-0.5, 20)
plt.show()

# %%
# A single model can be proved to be the best, here for eight features.
result = sparsest.best_subset(data.X, data.y, k=8, gamma=2 / 150)
print(result)
