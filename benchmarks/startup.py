"""How long it takes to begin: importing the package, and the first fit of a new process once kernels are compiled.

Every number is the median over fresh processes.  ``--cold`` also times the first fit ever, with an empty cache.

    python benchmarks/startup.py --repeat 7
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

IMPORT = "import sparsest"
FIT = """
import numpy as np
X = np.random.default_rng(0).standard_normal((200, 50))
target = X[:, 0] - X[:, 1] + 0.5 * np.random.default_rng(1).standard_normal(200)
y = np.sign(target) if "{loss}" in ("logistic", "hinge", "squared_hinge") else target
begin = time.perf_counter()
import sparsest
sparsest.best_subset(X, y, 5, loss="{loss}", method="{method}", standardize=False)
"""
TIMED = "import time\nbegin = time.perf_counter()\n{code}\nprint(time.perf_counter() - begin)"


def seconds(code: str, **environment: str) -> float:
    """Run code in a new process and return what its own clock says."""
    command = [sys.executable, "-c", TIMED.format(code=code)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return float(done.stdout)


def median(code: str, repeat: int) -> float:
    seconds(code)  # fills the cache and does not count
    return statistics.median(seconds(code) for _ in range(repeat))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="processes per number")
    parser.add_argument("--methods", nargs="*", default=["local"])
    parser.add_argument("--losses", nargs="*", default=["squared", "logistic", "hinge"])
    parser.add_argument("--cold", action="store_true", help="also time the first fit ever")
    options = parser.parse_args()
    print(f"{'import sparsest':<50}{median(IMPORT, options.repeat):8.3f} s")
    for method in options.methods:
        for loss in options.losses:
            code = FIT.format(loss=loss, method=method)
            print(f"{f'import and first fit, {method}, {loss}':<50}{median(code, options.repeat):8.3f} s")
            if options.cold:
                with tempfile.TemporaryDirectory() as cache:
                    print(f"{f'first fit ever, {method}, {loss}':<50}{seconds(code, SPARSEST_CACHE_DIR=cache):8.3f} s")


if __name__ == "__main__":
    main()
