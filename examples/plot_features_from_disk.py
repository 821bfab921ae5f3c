"""
100,000 features from disk
==========================

A matrix of 300 rows and 100,000 columns in a file, read as a memory map: no copy is made, and columns are read in
blocks. It is written here to a temporary folder (120 MB).
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sparsest

n, p, k = 300, 100_000, 5
rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name, "x.npy")
X = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(n, p), fortran_order=True)
for start in range(0, p, 10_000):
    X[:, start : start + 10_000] = rng.standard_normal((n, 10_000), dtype=np.float32)
truth = np.sort(rng.choice(p, k, replace=False))
y = X[:, truth] @ np.ones(k) + rng.standard_normal(n)
X.flush()

# %%
# The search passes over the file a few times, drops the features that no better model can have, and works on those
# that are left.
X = np.load(file, mmap_mode="r")
events = []
began = time.process_time()
result = sparsest.best_subset(X, y, k=k, gamma=2 / n, callback=events.append)
seconds = time.process_time() - began
print(result)
print(f"chosen features are the true ones: {result.support.tolist() == truth.tolist()}; {seconds:.1f} s of CPU time")

# %%
# The proof is checked against the file, without the solver.
verdict = result.certificate.verify(X, y, k=k)
print("valid:", verdict.valid)

# %%
# The correlation of each feature with the response: the chosen ones stand out from the 100,000.
scores = np.abs(X.T @ ((y - y.mean()) / np.linalg.norm(y - y.mean()))) / np.linalg.norm(X, axis=0)
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.plot(scores, ".", markersize=1, color="#999999", rasterized=True)
ax.plot(result.support, scores[result.support], "o", color="#d55e00", label="chosen, with a proof")
ax.set(xlabel="feature", ylabel="correlation with y")
ax.legend(loc="upper right")
plt.show()
del X
folder.cleanup()
