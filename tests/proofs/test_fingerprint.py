"""One fingerprint for the same data, however they are stored, and another one for any others."""

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from proofs.helpers import sample, sample_weights
from proofs.test_data import data_of
from sparsest.proofs.fingerprint import fingerprint


def test_the_same_data_in_every_storage_have_one_fingerprint():
    X = np.round(4.0 * sample(12, 5)[0]) * (np.arange(12)[:, None] % 3 > 0)
    y = np.arange(12)
    wide = np.zeros((24, 10))
    wide[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    storages = [
        X,
        np.asfortranarray(X),
        X.astype(np.float32),
        X.astype(np.int8),
        X.astype(np.int64),
        wide[::2, ::2],
        read_only,
        X.tolist(),
        sp.csc_array(X),
        sp.csr_matrix(X),
        sp.coo_array(X),
        sp.bsr_array(X),
        pd.DataFrame(X),
        pl.DataFrame(X),
        np.where(X == 0.0, -0.0, X),
    ]
    found = {fingerprint(data_of(other, y)) for other in storages}
    assert len(found) == 1
    for response in (y.astype(np.float32), y[:, None], pd.Series(y), pl.Series(y), y.tolist()):
        assert fingerprint(data_of(X, response)) in found
    for weights in (np.ones(12), 1.0, pd.Series(np.ones(12))):
        assert fingerprint(data_of(X, y, weights)) in found


def test_every_change_of_the_data_changes_the_fingerprint():
    X, y = sample(8, 3)
    weights = sample_weights(8)
    known = {fingerprint(data_of(X, y, weights))}
    for array in (X, y, weights):
        for place in np.ndindex(array.shape):
            before = array[place]
            array[place] = np.nextafter(before, np.inf)
            known.add(fingerprint(data_of(X, y, weights)))
            array[place] = before
    known.add(fingerprint(data_of(X[:, ::-1], y, weights)))
    known.add(fingerprint(data_of(X[::-1], y, weights)))
    known.add(fingerprint(data_of(X.T.reshape(8, 3), y, weights)))
    assert len(known) == 1 + X.size + 2 * y.size + 3


def test_labels_are_signs_and_their_swap_is_noticed():
    X = sample(6, 2)[0]
    first = np.array(["no", "yes", "no", "yes", "yes", "no"])
    prints = [
        fingerprint(data_of(X, y, loss="logistic")) for y in (first, first == "yes", np.where(first == "yes", 7, 2))
    ]
    assert len(set(prints)) == 1
    assert fingerprint(data_of(X, first == "no", loss="logistic")) != prints[0]


def test_rows_of_weight_zero_are_no_part_of_the_data():
    X, y = sample(8, 3)
    weights = sample_weights(8)
    weights[[2, 5]] = 0.0
    X[2], y[5] = np.nan, 1e9
    kept = np.flatnonzero(weights)
    assert fingerprint(data_of(X, y, weights)) == fingerprint(data_of(X[kept], y[kept], weights[kept]))
