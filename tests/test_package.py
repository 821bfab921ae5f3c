"""The package as a whole: what importing it loads, its names, and its modules."""

import tomllib
from pathlib import Path

import pytest

import sparsest
from modules import listed
from processes import TESTS, run

HEAVY = ("numba", "sklearn", "matplotlib", "rich", "typer", "pandas", "highspy")


def test_import_loads_nothing_heavy():
    loaded = run("-c", f"import sys, sparsest; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_a_fit_loads_only_what_it_needs():
    code = "import sys, sparsest; sparsest.best_subset([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0]], [1.0, 2.0, 4.0], 1)"
    others = ("sklearn", "pandas", "matplotlib", "rich", "typer", "highspy", "flint", "sparsest.paths")
    loaded = run("-c", f"{code}; print([name for name in {others} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_public_names_resolve():
    assert sorted(sparsest.__all__) == list(sparsest.__all__)
    for name in sparsest.__all__:
        public = getattr(sparsest, name)
        # A module has a dotted name; other objects say where they were defined.
        assert public.__name__ == name or public.__name__ == f"sparsest.{name}"
        assert getattr(public, "__module__", public.__name__).split(".")[0] == "sparsest"
    assert set(sparsest.__all__) <= set(dir(sparsest))
    with pytest.raises(AttributeError, match="module 'sparsest' has no attribute 'worst_subset'"):
        _ = sparsest.worst_subset


def test_the_version_is_the_same_everywhere():
    root = TESTS.parent
    assert tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"] == sparsest.__version__
    assert f"\nversion: {sparsest.__version__}\n" in (root / "CITATION.cff").read_text()
    assert f"\n## [{sparsest.__version__}]" in (root / "CHANGELOG.md").read_text()


def test_constraints_of_the_lowest_versions():
    """``.ci/run`` installs them; the file names every dependency, with a version that is declared."""
    lines = run(str(TESTS.parent / ".ci" / "lowest.py")).split()
    declared = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {line.replace("==", ">=") for line in lines} >= set(declared)


# Modules without a test file of their own name, and where their tests are.
TESTED_ELSEWHERE = {
    # Groups are tested by the solutions of their paths.
    "paths/group_set": "paths/test_groups",
    "paths/group_walk": "paths/test_groups",
    # The loop of the relaxation needs a regulariser.
    "subset/relaxation/kernels/regulariser": "subset/relaxation/kernels/test_fista",
    "subset/relaxation/entering": "subset/relaxation/test_engine",
    # Products with rows of a Gram matrix.
    "subset/tree/kernels/structured": "subset/tree/test_structured_gram",
    # The moves of the local search.
    "subset/pool": "subset/test_local_search",
    # The structure of nodes, tested by the searches that need it.
    "subset/tree/node_rules": "subset/tree/test_structured_bounder",
    # Names of types alone.
    "core/arrays": None,
    # Blocks of genotypes.
    "core/designs/packed": "core/designs/test_genotypes",
    # What designs that are read in blocks are made of.
    **dict.fromkeys(
        (f"core/designs/{name}" for name in ("combining", "recent", "row_sums", "sources", "summed_packs")),
        "core/designs/test_streamed",
    ),
    # What designs and checks send to blocks.
    "core/designs/block_work": "core/designs/test_blocked",
    "proofs/passes": "proofs/test_grid",
    # A tuple, tested with all that return it.
    "datasets/dataset": "datasets/test_synthetic",
    # The parts of one walk along a path.
    **dict.fromkeys(
        (
            f"paths/{name}"
            for name in ("general_walk", "kernels/rules", "loss_of_margins", "quadratic", "task", "walk", "walks")
        ),
        "paths/test_path",
    ),
    # Their parts have tests of their own; what is left is how these are put together.
    "estimators/best_subset_cv": "estimators/test_cross_validated",
    "estimators/penalized_cv": "estimators/test_cross_validated",
    # All displays have the same methods.
    **dict.fromkeys(
        (f"plots/{name}" for name in ("paths", "ranges", "search", "selection", "style", "validation")),
        "plots/test_plots",
    ),
    # Tuples, tested with what shows them.
    "runtime/events": "runtime/test_progress",
    "runtime/control_groups": "runtime/test_memory",
    # Methods for working sets, tested together, and the moves and relaxations of all spaces of a grid.
    **dict.fromkeys(
        (f"subset/relaxation/{name}" for name in ("piecewise", "proximal_newton", "working_solution")),
        "subset/relaxation/test_working_set",
    ),
    "subset/grid/polish": "subset/grid/test_squared",
    "subset/grid/space": "subset/grid/test_relaxations",
    # The parts of a search.
    **dict.fromkeys(
        (f"subset/tree/{name}" for name in ("node_bounds", "progress", "root_phase", "tree_loop")),
        "subset/tree/test_search",
    ),
    # The searches of the goal.
    "subset/tree/local_optima": "subset/tree/test_goal",
    # The gains of choices of last features.
    "subset/tree/choice_gains": "subset/tree/test_last_features",
    # What leaves of several kinds are checked with.
    "proofs/bounds": "proofs/test_splits",
    "proofs/exact_algebra": "proofs/test_exact",
    # The interval arithmetic of the checker's losses.
    "proofs/enclosures": "proofs/test_losses",
    # Tuples, tested with the searches that make them.
    "results/parts": "subset/test_screening",
    # The search of a certified choice.
    "selection/size_search": "selection/test_certified_search",
    # What the bootstrap returns.
    "selection/bootstrap_result": "selection/test_bootstrap",
    # What a study is.
    "studies/study": "studies/test_catalog",
}
# Folders whose modules are found through a registry, and the laws that hold for everything in it; and folders that are
# tested through their front door, as users come in.
TESTED_TOGETHER = {
    "core/losses": "core/test_losses",
    "proofs/losses": "proofs/test_losses",
    "studies/catalog": "studies/test_catalog",
    "cli": "cli/test_app",
    "tables": "tables/test_formats",
    "report": "report/test_page",
    "results/markup": "report/test_page",
}


def test_every_module_has_its_tests():
    package = Path(sparsest.__file__).parent
    modules = {path.relative_to(package).with_suffix("") for path in package.rglob("*.py")}
    alone = {module for module in modules if module.parent.as_posix() not in TESTED_TOGETHER}
    names = {module.as_posix() for module in alone if not module.name.startswith("__")}
    untested = {name for name in names if not (TESTS / name).with_name(f"test_{Path(name).name}.py").exists()}
    assert untested == set(TESTED_ELSEWHERE)
    files = {*TESTED_ELSEWHERE.values(), *TESTED_TOGETHER.values()} - {None}
    assert all((TESTS / f"{file}.py").exists() for file in files)


def test_every_module_says_what_it_is_for():
    modules = dict(listed(Path(sparsest.__file__).parent))
    assert len(modules) > 100 and all(modules.values())
    assert run(str(TESTS / "modules.py")).count("\n") >= len(modules)
