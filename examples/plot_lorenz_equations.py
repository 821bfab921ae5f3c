"""
The Lorenz equations found with a proof: pysindy
================================================

SINDy (Brunton, Proctor and Kutz, 2016) finds differential equations in data: the derivative of each variable is a
sparse combination of candidate terms. pysindy makes the terms and the derivatives; here the sparse combination is a
best subset, so each equation comes with a proof that no other choice of as many terms fits better. It needs
``pip install pysindy``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pysindy
from scipy.integrate import solve_ivp

import sparsest


def lorenz(_, state):
    """The equations that are to be found."""
    x, y, z = state
    return [10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z]


times = np.arange(0.0, 8.0, 0.002)
track = solve_ivp(lorenz, (0.0, 8.0), [-8.0, 8.0, 27.0], t_eval=times, rtol=1e-10, atol=1e-10).y.T
track = track + 0.01 * np.random.default_rng(0).standard_normal(track.shape)

# %%
# Candidate terms up to degree three, and derivatives by finite differences of smoothed data.
library = pysindy.PolynomialLibrary(degree=3, include_bias=False).fit(track)
terms = np.asarray(library.transform(track))[5:-5]
names = library.get_feature_names(["x", "y", "z"])
derivatives = np.asarray(pysindy.SmoothedFiniteDifference()(track, times))[5:-5]

# %%
# For each variable the number of terms with the best EBIC, every other number excluded by a certificate. The constant
# term is left out.
for name, derivative in zip("xyz", derivatives.T, strict=True):
    choice = sparsest.certified_choice(terms, derivative, "ebic", ks=5, gamma=np.inf, fit_intercept=False)
    result = choice.result
    equation = " + ".join(f"{result.coef[j]:.2f} {names[j]}" for j in result.support)
    print(f"{name}' = {equation}   ({choice.status.name}, {choice.k} terms)")

# %%
figure = plt.figure(figsize=(5, 4), layout="constrained")
ax = figure.add_subplot(projection="3d")
ax.plot(*track.T, linewidth=0.6, color="#0072b2")
ax.set(xlabel="x", ylabel="y", zlabel="z")
plt.show()
