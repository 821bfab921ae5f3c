"""
A support vector machine with few features
==========================================

The hinge loss with at most k features: the same search, the same proof. How many of 30 measurements of cell nuclei does
a linear support vector machine need?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

import sparsest

data = sparsest.datasets.load_breast_cancer()
model = sparsest.BestSubsetClassifier(k=3, loss="hinge").fit(data.X, data.y)
print(model.status_.name, data.feature_names[model.support_].tolist())

# %%
folds = StratifiedKFold(5, shuffle=True, random_state=0)
sizes = [1, 2, 3, 4, 6, 8, 12]
curves = {}
for loss, colour in [("hinge", "#0072b2"), ("logistic", "#d55e00")]:
    scores = [
        cross_val_score(
            sparsest.BestSubsetClassifier(k=k, loss=loss, method="relaxation"),
            data.X,
            data.y,
            cv=folds,
            scoring="roc_auc",
        )
        for k in sizes
    ]
    curves[loss] = np.mean(scores, axis=1), colour

# %%
# Three or four features are nearly as good as twelve.
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for loss, (curve, colour) in curves.items():
    ax.plot(sizes, curve, marker="o", color=colour, label=loss)
ax.set(xlabel="features", ylabel="AUC on held-out patients")
ax.legend()
plt.show()
