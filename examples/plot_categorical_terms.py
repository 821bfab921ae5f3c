"""
Categorical terms, chosen as a whole
====================================

A table with factors of three to eight levels and some measurements. Which *columns of the table* matter? Levels that
are chosen one by one answer another question. With ``feature_groups`` the dummies of a factor enter a model together,
k counts columns of the table, and the proof is about all other choices of columns.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import sparsest

rng = np.random.default_rng(0)
n = 400
levels = {"region": 8, "diet": 3, "blood": 4, "ward": 5, "shift": 3, "month": 6}
table = pd.DataFrame({name: rng.integers(0, count, n) for name, count in levels.items()})
for name in ("age", "weight", "pressure", "pulse"):
    table[name] = rng.standard_normal(n)
effects = {"region": rng.normal(0.0, 0.7, 8), "diet": np.array([-0.8, 0.0, 0.8])}
response = sum(effect[table[name]] for name, effect in effects.items()) + 0.6 * table["age"] + rng.standard_normal(n)

encoded = pd.get_dummies(table, columns=list(levels), prefix_sep="=", dtype=float)
terms = [name.split("=")[0] for name in encoded.columns]
model = sparsest.best_subset(encoded, response, k=3, feature_groups=terms)
print(model.terms, model.status.name)

# %%
# Every other choice of three columns is excluded by the certificate. A fourth one would be arbitrary: ``near_optimal``
# finds all choices of four whose objective is larger by up to two per cent, with a proof that there are no others.
four = sparsest.best_subset(encoded, response, k=4, feature_groups=terms)
near = sparsest.near_optimal(four, encoded, response, within=0.02)
for support, objective in zip(near.supports, near.objectives, strict=True):
    choice = dict.fromkeys(terms[j] for j in support)
    print(f"{max(objective / four.objective - 1.0, 0.0):5.1%}  {', '.join(choice)}")
print("all of them:", near.complete)

# %%
# Choosing single levels gives another answer: the three features cover some levels and say nothing about the others.
separate = sparsest.best_subset(encoded, response, k=3)
print(separate.names)

# %%
# The best terms for each k, and the share of the variance that they explain.
total = 0.5 * ((response - response.mean()) ** 2).sum()
models = [sparsest.best_subset(encoded, response, k=k, feature_groups=terms) for k in range(1, 6)]
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.barh([", ".join(one.terms) for one in models], [1.0 - one.objective / total for one in models], color="#0072b2")
ax.invert_yaxis()
ax.set(xlabel="explained share of the variance, after the ridge")
plt.show()
