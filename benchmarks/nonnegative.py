"""Nonnegative coefficients on data like spectra: the relaxation with its gap, at a size that L0Learn's users ask for.

Every column is a spectrum of a few peaks at n channels, in single precision; the response is a mixture of k of them
with positive shares, and noise.  Neighbouring peaks make columns correlated.  The time includes preparing the data, the
local search after the relaxation, and the check of the proof.

    python benchmarks/nonnegative.py [--channels 5000] [--spectra 50000] [--k 20]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from table import Row

from sparsest import best_subset

CHANNELS, SPECTRA, K = 5000, 50_000, 20
# Peaks of a spectrum, their widths in channels, and the signal-to-noise ratio.
PEAKS, WIDTHS, SNR = 8, (5.0, 40.0), 20.0
WANTED_SECONDS = 30.0


def spectra(channels: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Spectra as columns, in column order."""
    X = np.zeros((channels, count), dtype=np.float32, order="F")
    for column in X.T:
        for _ in range(PEAKS):
            centre, width, height = rng.integers(channels), rng.uniform(*WIDTHS), rng.exponential()
            first, last = max(0, int(centre - 4 * width)), min(channels, int(centre + 4 * width) + 1)
            column[first:last] += height * np.exp(-0.5 * ((np.arange(first, last) - centre) / width) ** 2)
    return X


def mixture(X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """A response with positive shares of k spectra."""
    chosen = rng.choice(X.shape[1], k, replace=False)
    signal = X[:, chosen].astype(np.float64) @ rng.uniform(0.5, 1.5, k)
    return signal + np.sqrt(signal.var() / SNR) * rng.standard_normal(X.shape[0])


def measure(channels: int = CHANNELS, count: int = SPECTRA, k: int = K):
    """The result, and seconds of wall clock and of all processors."""
    rng = np.random.default_rng(0)
    small = spectra(60, 40, rng)
    best_subset(small, mixture(small, 3, rng), 3, lower=0.0, method="relaxation")
    X = spectra(channels, count, rng)
    y = mixture(X, k, rng)
    wall, processors = time.perf_counter(), time.process_time()
    result = best_subset(X, y, k, lower=0.0, method="relaxation")
    return result, time.perf_counter() - wall, time.process_time() - processors


def rows():
    _, seconds, _ = measure()
    yield Row(f"nonnegative, {CHANNELS} × {SPECTRA} float32, relaxation", seconds, "s", WANTED_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--channels", type=int, default=CHANNELS)
    parser.add_argument("--spectra", type=int, default=SPECTRA)
    parser.add_argument("--k", type=int, default=K)
    asked = parser.parse_args()
    result, wall, processors = measure(asked.channels, asked.spectra, asked.k)
    relaxation = result.trace["relaxation"]
    print(
        f"{asked.channels} × {asked.spectra}, k = {asked.k}: {wall:.1f} s, {processors:.1f} s of processors, "
        f"gap {result.gap:.3%}, {relaxation['rounds']} rounds, {relaxation['iterations']} iterations, "
        f"{relaxation['passes']:.1f} passes, smallest coefficient {result.coef.min():g}, {result.status.name}"
    )


if __name__ == "__main__":
    main()
