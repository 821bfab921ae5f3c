"""
A table with categories, missing values and rare levels
=======================================================

Real tables have text, gaps and levels with only three rows. The command line reads them and says what it did; this
example does the same in Python, with a scikit-learn pipeline around the estimator.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import sparsest

rng = np.random.default_rng(0)
n = 400
table = pd.DataFrame(
    {
        "age": rng.integers(20, 85, n).astype(float),
        "pressure": rng.normal(130, 15, n),
        "smoker": rng.choice(["no", "yes", "former"], n, p=[0.6, 0.25, 0.15]),
        "centre": rng.choice(["Basel", "Kyiv", "Lyon", "Oslo", "Turin"], n, p=[0.4, 0.3, 0.28, 0.01, 0.01]),
    }
)
risk = 0.04 * table["age"] + 1.5 * (table["smoker"] == "yes") + 0.8 * (table["centre"] == "Kyiv")
table["outcome"] = risk + rng.standard_normal(n)
table.loc[rng.random(n) < 0.1, "pressure"] = np.nan
table.loc[rng.random(n) < 0.05, "centre"] = None
print(table.head())

# %%
# Missing text becomes a separate level, rare levels are merged, missing numbers get the median and an indicator.
numbers = ["age", "pressure"]
texts = ["smoker", "centre"]
prepare = make_column_transformer(
    (SimpleImputer(strategy="median", add_indicator=True), numbers),
    (OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist", sparse_output=False), texts),
    verbose_feature_names_out=False,
).set_output(transform="pandas")
model = make_pipeline(prepare, sparsest.BestSubsetRegressor(k=3)).fit(table[numbers + texts], table["outcome"])
print(model[-1].result_.summary())

# %%
# Imputation and encoding are learnt inside each fold, so held-out rows do not influence them.
scores = []
for k in range(1, 8):
    one = make_pipeline(prepare, sparsest.BestSubsetRegressor(k=k, method="relaxation"))
    scores.append(cross_val_score(one, table[numbers + texts], table["outcome"], cv=5))
means, errors = np.mean(scores, axis=1), np.std(scores, axis=1, ddof=1) / np.sqrt(5)
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.errorbar(range(1, 8), means, errors, marker="o", capsize=3, color="#0072b2")
ax.set(xlabel="features", ylabel="R² on held-out rows")
plt.show()
