"""How long it takes to begin: importing the package, the demo, and the first fit of a new process.

Every number is the median over fresh processes; of the first ever, with an empty cache of kernels, there is one.  The
modules are compiled to bytecode, as an installed package's are.

    python benchmarks/startup.py --repeat 7
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from table import Row, show

DEMO = "import sys; sys.argv = ['sparsest', 'demo']\nfrom sparsest.cli import app\napp()"
FIT = """
import numpy as np
X = np.random.default_rng(0).standard_normal((200, 50))
target = X[:, 0] - X[:, 1] + 0.5 * np.random.default_rng(1).standard_normal(200)
y = np.sign(target) if "{loss}" in ("logistic", "hinge", "squared_hinge") else target
import sparsest
sparsest.best_subset(X, y, 5, loss="{loss}", method="{method}", standardize=False)
"""
# Seconds that are wanted: of the import, of the demo with an empty cache, and of the demo later.
IMPORT_TARGET, FIRST_TARGET, LATER_TARGET = 0.5, 8.0, 1.2


class Beginner:
    """Runs code in new processes that share a folder of bytecode and compiled kernels, empty at first."""

    def __init__(self, folder: str) -> None:
        self.environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "SPARSEST_CACHE_DIR": folder}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # Importing everything compiles no kernel.
        self.seconds("import sparsest.subset.api, sparsest.cli, sparsest.report")

    def seconds(self, code: str) -> float:
        """How long a process takes from its start to its end."""
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=self.environment, capture_output=True, check=True)
        return time.perf_counter() - begin

    def median(self, code: str, repeat: int) -> float:
        """The median of some processes."""
        return statistics.median(self.seconds(code) for _ in range(repeat))


def rows(repeat: int = 5) -> Iterator[Row]:
    """Figures that have targets."""
    with tempfile.TemporaryDirectory() as folder:
        beginner = Beginner(folder)
        yield Row("import sparsest", beginner.median("import sparsest", repeat), "s", IMPORT_TARGET)
        yield Row("the first demo ever", beginner.seconds(DEMO), "s", FIRST_TARGET)
        yield Row("the demo, later", beginner.median(DEMO, repeat), "s", LATER_TARGET)


def first_fits(methods: list[str], losses: list[str], repeat: int) -> None:
    """The first fit ever, and the first of a later process, each with a separate cache."""
    for method in methods:
        for loss in losses:
            code = FIT.format(loss=loss, method=method)
            with tempfile.TemporaryDirectory() as folder:
                beginner = Beginner(folder)
                ever = beginner.seconds(code)
                print(f"first fit, {method}, {loss}: ever {ever:.2f} s, later {beginner.median(code, repeat):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="processes per number")
    parser.add_argument("--methods", nargs="*", default=["tree"])
    parser.add_argument("--losses", nargs="*", default=["squared", "logistic", "hinge"])
    options = parser.parse_args()
    show(rows(options.repeat))
    first_fits(options.methods, options.losses, options.repeat)


if __name__ == "__main__":
    main()
