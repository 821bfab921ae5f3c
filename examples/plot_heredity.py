"""
Interactions with heredity
==========================

Products of pairs of 40 measurements are 780 further features. A model with the product of two measurements but without
the measurements themselves is hard to defend, because it changes with their zero points. *Strong heredity* admits a
product only together with both of its factors. The products are computed when they are needed.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsest

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 40))
X[:, 1:] = 0.5 * X[:, :-1] + np.sqrt(0.75) * X[:, 1:]
y = X[:, 5] + X[:, 20] + 1.5 * X[:, 5] * X[:, 20] + rng.standard_normal(300)
design = sparsest.interactions(X)
heredity = sparsest.Structure(requires=design.requires)
print(design.shape)

# %%
# The best models with and without the rule, each with the proof that there is none better.
with_rule, without = {}, {}
for k in range(1, 5):
    with_rule[k] = sparsest.best_subset(design, y, k=k, structure=heredity)
    without[k] = sparsest.best_subset(design, y, k=k)
    print(k, with_rule[k].status.name, with_rule[k].names, "without the rule:", without[k].names)

# %%
# What the rule costs: the explained share of the variance.
total = 0.5 * ((y - y.mean()) ** 2).sum()
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for models, label, color in ((without, "any features", "#999999"), (with_rule, "strong heredity", "#0072b2")):
    ax.plot(list(models), [1.0 - model.objective / total for model in models.values()], "o-", label=label, color=color)
ax.set(xlabel="number of features", ylabel="explained share of the variance", xticks=range(1, 5))
ax.legend(frameon=False)
plt.show()
