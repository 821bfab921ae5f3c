"""
Choosing the number of features
===============================

Three rules on the same data: cross-validation, its rule of one standard error, and EBIC with a proof. The data have six
true features among 100.
"""

import matplotlib.pyplot as plt

import sparsest

data = sparsest.datasets.make_toeplitz(n=250, p=100, k=6, rho=0.5, snr=0.5, rng=2)
best = sparsest.BestSubsetRegressorCV(ks=range(16)).fit(data.X, data.y)
one_se = sparsest.BestSubsetRegressorCV(ks=range(16), selection="one_se").fit(data.X, data.y)
choice = sparsest.certified_choice(data.X, data.y, "ebic", ks=15)

for name, support in [("best", best.support_), ("one_se", one_se.support_), ("ebic", choice.result.support)]:
    true = sparsest.metrics.true_features(support, data.support)
    false = sparsest.metrics.false_features(support, data.support)
    print(f"{name:8s} {support.size:2d} features: {true} true, {false} false")

# %%
# Left: the error on held-out rows falls steeply at first and is flat later. Right: EBIC has a bound for every number of
# features, over all models of that size; a size whose bound is above the best value is excluded by a proof.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
sparsest.plots.ValidationCurveDisplay.from_estimator(best, ax=axes[0])
table = choice.to_frame()
axes[1].plot(table.index, table["lower_bound"], color="#0072b2", label="no model of this size is below")
axes[1].plot(table.index, table["value"], "o", color="#d55e00", markersize=4, label="best model found")
axes[1].axhline(choice.value, color="black", linewidth=0.8, linestyle="--")
axes[1].set(xlabel="features", ylabel="EBIC", title=f"not excluded: {[choice.k, *choice.not_excluded]}")
axes[1].legend()
plt.show()
