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
# Candidate terms up to degree three, and derivatives by finite differences of smoothed data. pysindy fits all
# equations at once; its ``WrappedOptimizer`` fits one of our estimators to each. The number of terms is the one with
# the best EBIC, and every other number is excluded by a certificate. There is no ridge and no constant term.
# ``unbias=False`` keeps the coefficients of the certificates.
sparse = sparsest.BestSubsetRegressor("ebic", gamma=np.inf, fit_intercept=False)
model = pysindy.SINDy(
    optimizer=pysindy.WrappedOptimizer(sparse, unbias=False),
    feature_library=pysindy.PolynomialLibrary(degree=3, include_bias=False),
    differentiation_method=pysindy.SmoothedFiniteDifference(),
)
model.fit(track, t=times, feature_names=["x", "y", "z"])
model.print(precision=2)

# %%
# The fitted estimators, one for each equation, have the proofs.
equations = model.optimizer.optimizer.estimators_
for name, equation in zip("xyz", equations, strict=True):
    print(f"{name}': {equation.choice_.k} terms, {equation.status_.name}")

# %%
figure = plt.figure(figsize=(5, 4), layout="constrained")
ax = figure.add_subplot(projection="3d")
ax.plot(*track.T, linewidth=0.6, color="#0072b2")
ax.set(xlabel="x", ylabel="y", zlabel="z")
plt.show()
