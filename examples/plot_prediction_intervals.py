"""
Prediction intervals with a guaranteed coverage: MAPIE
======================================================

Conformal prediction needs no model of the noise: its intervals contain the response of a new patient with a given
probability. MAPIE repeats the selection in every fold, so the intervals account for it (Barber, Candès, Ramdas and
Tibshirani, 2021: the guarantee is 1 - 2α, the coverage in practice about 1 - α). It needs ``pip install mapie``.
"""

import matplotlib.pyplot as plt
import numpy as np
from mapie.regression import CrossConformalRegressor
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import sparsest

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
model = sparsest.BestSubsetRegressor(k=4)
intervals = CrossConformalRegressor(model, confidence_level=0.9, cv=10, random_state=0)
intervals.fit_conformalize(X_train, y_train)
predicted, limits = intervals.predict_interval(X_test)
low, high = limits[:, 0, 0], limits[:, 1, 0]

# %%
# How many held-out responses lie in their interval, and how wide the intervals are compared with the spread of the
# responses.
inside = (low <= y_test) & (y_test <= high)
coverage, width = float(np.mean(inside)), float(np.mean(high - low))
print(f"{coverage:.1%} of {y_test.size} held-out responses lie in their 90 % interval, which is {width:.0f} wide")
print(f"intervals that ignore the features would be {np.diff(np.quantile(y_train, [0.05, 0.95]))[0]:.0f} wide")

# %%
order = np.argsort(predicted)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.fill_between(np.arange(y_test.size), low[order], high[order], color="#0072b2", alpha=0.2, label="90 % interval")
ax.plot(predicted[order], color="#0072b2", label="prediction")
colours = np.where(inside[order], "black", "#d55e00")
ax.scatter(np.arange(y_test.size), y_test[order], s=9, c=colours, label="observed", zorder=3)
ax.set(xlabel="held-out patients, by prediction", ylabel="disease progression")
ax.legend(loc="upper left")
plt.show()
