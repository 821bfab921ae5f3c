"""Results of studies that were made up, for tests of what is done with them."""

import numpy as np

from sparsest.studies import find
from sparsest.studies.results import Completion, Results

METHODS = {"exact": 0.9, "relaxation": 0.8, "elastic_net": 0.5, "mcp": 0.85, "scad": 0.7}


def rows_of(name, size="smoke", certified=lambda cell, number: True):
    """A model of every size for every method of every cell, and its time."""
    rng = np.random.default_rng(0)
    found = []
    for panel in find(name).panels(size):
        for cell in panel.cells:
            for number in range(panel.n_sets):
                known = {
                    "panel": panel.name, "x": cell.x, "n": cell.n, "p": cell.source.p, "set": number,
                    "k_true": cell.source.k, "timed_k": cell.plan.timed_k, "version": "1", "machine": "<made up>",
                    "task": f"{panel.name} {cell.x} {number}", "procedure": "made",
                }  # fmt: skip
                for method, level in METHODS.items():
                    for k in cell.plan.ks:
                        tf = round(level * min(k, cell.source.k))
                        found.append(
                            {
                                **known, "position": len(found), "method": method, "k": k, "n_selected": k, "tf": tf,
                                "ff": k - tf, "validation": abs(k - cell.source.k) + rng.random(), "test": 2 - level,
                            }
                        )  # fmt: skip
                        if method in ("exact", "relaxation"):
                            proved = method == "exact" and certified(cell, number)
                            gap = 0.0 if proved else 0.25
                            found[-1] |= {"certified": proved, "gap": gap, "objective": 2 - level, "tight": False}
                    found.append(
                        {**known, "position": len(found), "method": f"{method} timed", "k": cell.plan.timed_k,
                         "seconds": 2.0 + level}
                    )  # fmt: skip
                found.append(
                    {**known, "position": len(found), "method": "reference", "k": cell.plan.timed_k, "seconds": 0.5}
                )
    return found


def results_of(name, size="smoke", **how):
    study = find(name)
    return Results(study, size, Completion(1, len(study.tasks(size)), 1.0), rows_of(name, size, **how))
