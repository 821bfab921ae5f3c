"""
Insurance counts with exposure
==============================

Numbers of claims of 4000 simulated policies that were insured for different times. The Poisson loss takes the insured
years as exposure, because five claims in ten years are not five claims in one.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsest

rng = np.random.default_rng(0)
n = 4000
names = ["age of driver", "power", "age of car", "city", "diesel"] + [f"noise {j}" for j in range(20)]
X = np.column_stack([rng.standard_normal((n, 3)), rng.random((n, 2)) < 0.4, rng.standard_normal((n, 20))])
years = rng.uniform(0.1, 2.0, n)
rate = np.exp(-1.8 - 0.3 * X[:, 0] + 0.2 * X[:, 1] + 0.4 * X[:, 3])
claims = rng.poisson(rate * years)
print(f"{claims.sum()} claims in {years.sum():.0f} years")

# %%
# The best models of each size, proved, and their BIC.
models = sparsest.best_subset_path(X, claims, range(1, 8), loss="poisson", exposure=years, feature_names=names)
bic = sparsest.information_criterion(models, X, claims, "bic", exposure=years)
best = models[int(np.argmin(bic))]
print(best.summary())

# %%
# Effects as factors of the rate, from a refit without shrinkage. The features were chosen on the same rows, so these
# intervals are somewhat too narrow.
found = best.inference(X, claims, exposure=years)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].plot(range(1, 8), bic, marker="o", color="#0072b2")
axes[0].set(xlabel="features", ylabel="BIC")
places = np.arange(len(found.names) - 1)
low, middle, high = (np.exp(values[:-1]) for values in (found.lower, found.coef, found.upper))
axes[1].errorbar(middle, places, xerr=[middle - low, high - middle], fmt="o", capsize=3, color="#d55e00")
axes[1].axvline(1.0, color="black", linewidth=0.8)
axes[1].set_yticks(places, found.names[:-1])
axes[1].set(xlabel="factor of the claim rate")
plt.show()
