"""
Text: a sparse matrix of words
==============================

Reviews as a sparse matrix of word frequencies. The matrix is never made dense, not even by standardisation, and the
model is a list of ten words.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import sparsest

# %%
# Two thousand short texts are made of 3000 words. Five words are more frequent in good reviews, five in bad ones.
rng = np.random.default_rng(0)
vocabulary = np.array([f"word{j}" for j in range(3000)], dtype=object)
good = ["excellent", "friendly", "quick", "helpful", "recommend"]
bad = ["broken", "late", "refund", "rude", "never"]
vocabulary[:10] = good + bad
usual = 1.0 / np.arange(5, 3005)
labels = rng.choice(["bad", "good"], 2000)
texts = []
for label in labels:
    weights = usual.copy()
    weights[:10] = 0.002
    weights[slice(0, 5) if label == "good" else slice(5, 10)] = 0.03
    texts.append(" ".join(rng.choice(vocabulary, 40, p=weights / weights.sum())))
vectorizer = TfidfVectorizer()
X = vectorizer.fit_transform(texts)
print(f"{X.shape[0]} × {X.shape[1]}, {X.nnz / np.prod(X.shape):.1%} of the entries are stored")

# %%
# The ten best words.
words = vectorizer.get_feature_names_out()
result = sparsest.best_subset(X, labels, k=10, loss="logistic", feature_names=words)
print(result)
found = result.coef[result.support]
print("good:", sorted(words[result.support[found > 0]]))
print("bad: ", sorted(words[result.support[found < 0]]))

# %%
order = np.argsort(found)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.barh(words[result.support[order]], found[order], color=np.where(found[order] > 0, "#0072b2", "#d55e00"))
ax.set(xlabel="coefficient: good reviews to the right")
plt.show()
