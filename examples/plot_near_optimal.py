"""
Near-optimal alternatives of a medical model
============================================

Which three measurements of a cell nucleus tell benign from malignant tumours best? The best three are found and proved
in a fraction of a second. More interesting is how many other triples are nearly as good: all of them are found, with a
proof that there are no others.
"""

import matplotlib.pyplot as plt

import sparsest

data = sparsest.datasets.load_breast_cancer()
result = sparsest.best_subset(data.X, data.y, k=3, loss="logistic", feature_names=data.feature_names)
print(result.summary())

# %%
# All triples within 3 % of the optimum.
near = sparsest.near_optimal(result, data.X, data.y, within=0.03)
print(f"{len(near.supports)} models; complete: {near.complete}")
for support, objective in zip(near.supports, near.objectives, strict=True):
    print(f"{objective / result.objective - 1:6.2%}  {', '.join(data.feature_names[support])}")

# %%
# How many of them contain each feature, and the range of its effect. Features that replace each other
# carry the same information: the data cannot tell which one matters.
sparsest.plots.ImportanceDisplay.from_near_optimal(near).plot()
plt.show()
