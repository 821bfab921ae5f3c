"""What tests of several data sets need."""

import numpy as np


def rms(X):
    """The root mean square of every column."""
    return np.sqrt(np.mean(np.asarray(X, dtype=np.float64) ** 2, axis=0))
