"""
A certificate checked by hand, in 30 lines of NumPy
===================================================

``sparsest`` claims that no other choice of k features fits better than the one it found by more than the gap. This
example checks such a claim without the library. It takes only a vector from the certificate, from which the bound
follows by arithmetic.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsest

data = sparsest.datasets.make_toeplitz(n=300, p=1000, k=5, rho=0.3, snr=6.0, rng=0)
k, gamma = 5, 2 / 300
result = sparsest.best_subset(
    data.X, data.y, k=k, gamma=gamma, standardize=False, fit_intercept=False, method="relaxation"
)
print(result)

# %%
# The claim is about ``½‖y - Xw‖² + ‖w‖²/(2γ)`` over all w with at most five nonzero entries. There are more than
# 8 · 10¹² supports. From here on only NumPy is used.
X, y = data.X, data.y


def objective(w):
    """The misfit of a model, and its ridge."""
    return 0.5 * np.sum((y - X @ w) ** 2) + np.sum(w**2) / (2 * gamma)


# %%
# **The upper bound** is the objective of the model.
upper = objective(result.coef)

# %%
# **The lower bound.** For every vector α and every w,
#
#     ½(y_i - u)² ≥ α_i u - ½α_i² - y_i α_i        (the square of y_i - u + α_i is not negative),
#
# so with ``u = x_i'w`` the objective is at least ``-½‖α‖² - y'α + Σ_j [(X_j'α) w_j + w_j²/(2γ)]``. The bracket of a
# feature is at least ``-(γ/2)(X_j'α)²``, and zero if the feature is not chosen. At most k are chosen, so no model is
# below


def lower_bound(alpha):
    """What a vector proves: no model of at most k features has a smaller objective."""
    gains = gamma / 2 * (X.T @ alpha) ** 2
    return -0.5 * alpha @ alpha - y @ alpha - np.sort(gains)[-k:].sum()


# %%
# Any vector is allowed; a good one comes from the solution of the relaxation. The certificate has such vectors, and we
# take the one that proves the most.
alpha = max((np.asarray(point.values, dtype=float) for point in result.certificate.proof.points), key=lower_bound)
lower = lower_bound(alpha)
print(f"objective {upper:.6f}, no model is below {lower:.6f}: the gap is {(upper - lower) / upper:.1e}")

# %%
# The same with other vectors: the residual of the model without features, that of the chosen one, and mixtures with the
# certificate's vector. All of them prove a bound; that of the certificate's vector is the best.
steps = np.linspace(0, 1, 41)
empty, chosen = -y, X @ result.coef - y
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(steps, [lower_bound((1 - t) * empty + t * alpha) for t in steps], color="#0072b2", label="from the empty model")
ax.plot(
    steps, [lower_bound((1 - t) * chosen + t * alpha) for t in steps], color="#009e73", label="from the chosen model"
)
ax.axhline(upper, color="#d55e00", label="objective of the model")
ax.set(xlabel="share of the certificate's vector", ylabel="proved lower bound", ylim=(0, 1.1 * upper))
ax.legend(loc="lower right")
plt.show()
