"""
Forced and forbidden features
=============================

Epidemiologists adjust for age and sex, whether or not these improve the fit. A laboratory wants a model without
expensive measurements. Both are restrictions of the search, and the proof is about all models that satisfy them. The
picture shows how much fit each restriction costs.
"""

import matplotlib.pyplot as plt

import sparsest

data = sparsest.datasets.load_diabetes_quadratic()
names = data.feature_names.tolist()
expensive = [name for name in names if "s5" in name or "s6" in name]
questions = {
    "no restriction": {},
    "age and sex forced in": {"include": ["age", "sex"]},
    "s5 and s6 forbidden": {"exclude": expensive},
    "both": {"include": ["age", "sex"], "exclude": expensive},
    "coefficients up to 20": {"max_coef": 20.0},
}
models = {}
for question, restriction in questions.items():
    models[question] = sparsest.best_subset(data.X, data.y, k=5, feature_names=names, **restriction)
    print(f"{question:24s} {models[question].status.name}: {', '.join(models[question].names)}")

# %%
# The share of the variance that each model explains, and the largest that any model under the same restriction could.
total = 0.5 * ((data.y - data.y.mean()) ** 2).sum()
shares = [1.0 - model.objective / total for model in models.values()]
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.barh(list(models), shares, color="#0072b2")
ax.invert_yaxis()
ax.set(xlabel="explained share of the variance, after the ridge")
for place, share in enumerate(shares):
    ax.text(share - 0.01, place, f"{share:.1%}", color="white", ha="right", va="center")
plt.show()
