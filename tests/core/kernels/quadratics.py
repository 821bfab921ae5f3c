"""Columns for the kernels of coordinate descent, as an array and in all the forms that models have."""

import numpy as np
import scipy.sparse as sp

from sparsest.core.designs.compressed import make_stored
from sparsest.core.kernels.descent import Gram
from sparsest.core.kernels.sparse import stored_take_in

N, M = 30, 9


class Case:
    """Stored columns, centred under the weights, and what they are as an array."""

    def __init__(self, centred=True, seed=0):
        rng = np.random.default_rng(seed)
        stored = rng.standard_normal((N, M)) * (rng.random((N, M)) < 0.5)
        h, scale = rng.uniform(0.3, 2.0, N), rng.uniform(0.5, 2.0, M)
        centre = h @ stored / h.sum() if centred else np.zeros(M)
        self.X = (stored - centre) / scale
        self.G = self.X.T @ (h[:, None] * self.X)
        self.theta = rng.standard_normal(N)
        if centred:
            self.theta -= self.theta.mean()
        self.gradient = self.X.T @ self.theta
        self.matrix, self.rng, self.h = sp.csc_array(stored), rng, h
        self._columns = make_stored(self.matrix, centre, scale, h, centred)
        self._columns.names[:], self._columns.begins[:] = np.arange(M), self.matrix.indptr
        stored_take_in(self._columns, 0, M)

    def stored(self):
        return self._columns._replace(carried=self.theta / np.sqrt(self.h), constant=np.zeros(1))

    def model(self, kind):
        diagonal = np.diagonal(self.G).copy()
        return Gram(self.G.copy(), diagonal, 1.0 / diagonal) if kind == "gram" else self.stored()
