"""The examples of the gallery run, and show what they say."""

import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("plot_*.py"))


@pytest.fixture
def run():
    """Run an example without a screen; its variables are returned."""
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    pyplot.show, shown = lambda *_, **__: None, pyplot.show
    yield lambda name: runpy.run_path(str(EXAMPLES / f"{name}.py"))
    pyplot.show = shown
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_knockoffs(run):
    left = run("plot_knockoffs")
    false, power = left["false"], left["found_share"]
    assert np.mean(false) <= 0.2 + 3.0 * np.std(false) / np.sqrt(len(false)) and np.mean(power) > 0.8


def test_prediction_intervals(run, capsys):
    left = run("plot_prediction_intervals")
    # The guarantee of the method is 1 - 2α, for α = 0.1.
    assert left["coverage"] >= 0.8 and left["width"] > 0.0
    assert f"{left['coverage']:.1%} of 177 held-out responses" in capsys.readouterr().out


def test_certificate_by_hand(run):
    left = run("plot_certificate_by_hand")
    assert left["lower"] <= left["upper"] == pytest.approx(left["result"].objective)
    assert left["lower"] == pytest.approx(left["result"].lower_bound, rel=1e-6)


def test_choosing_k(run):
    left = run("plot_choosing_k")
    assert left["one_se"].k_ <= left["best"].k_ and left["choice"].k <= left["best"].k_


def test_near_optimal(run):
    left = run("plot_near_optimal")
    assert left["near"].complete and len(left["near"].supports) > 1


def test_exact_against_lasso(run):
    left = run("plot_exact_against_lasso")
    assert left["result"].status.name == "OPTIMAL"
    assert left["means"]["best subset"][9] > left["means"]["Lasso"][9]


def test_gene_expression(run):
    left = run("plot_gene_expression")
    assert left["result"].status.name == "OPTIMAL" and set(left["pathway"][left["result"].support]) <= {0, 1, 2, 3}
    assert left["of_pathways"][:4].min() > left["of_pathways"][4:].max()


def test_lorenz_equations(run, capsys):
    equations = run("plot_lorenz_equations")["equations"]
    assert [(one.choice_.k, one.status_.name) for one in equations] == [(2, "OPTIMAL"), (3, "OPTIMAL"), (2, "OPTIMAL")]
    assert "(y)' =  27.99 x + -1.00 y + -1.00 x z" in capsys.readouterr().out


def test_messy_table(run):
    left = run("plot_messy_table")
    assert set(left["model"][-1].result_.names) == {"age", "smoker_yes", "centre_Kyiv"}


def test_insurance_counts(run):
    best = run("plot_insurance_counts")["best"]
    assert best.status.name == "OPTIMAL" and set(best.names) == {"age of driver", "power", "city"}


def test_forced_features(run):
    models = run("plot_forced_features")["models"]
    assert all(model.status.name == "OPTIMAL" for model in models.values())
    assert {"age", "sex"} <= set(models["both"].names)
    assert not any("s5" in name or "s6" in name for name in models["both"].names)


def test_sparse_svm(run):
    left = run("plot_sparse_svm")
    assert left["model"].status_.name == "OPTIMAL" and left["curves"]["hinge"][0][3] > 0.97


def test_text(run):
    left = run("plot_text")
    assert set(left["words"][left["result"].support]) == set(left["good"] + left["bad"])


def test_features_from_disk(run):
    left = run("plot_features_from_disk")
    assert left["verdict"].valid and left["result"].support.tolist() == left["truth"].tolist()


def test_phase_transition(run):
    shares = run("plot_phase_transition")["shares"]
    assert shares["best subset"][-1].mean() == 1.0 and shares["best subset"][0].mean() < 0.5


def test_categorical_terms(run):
    left = run("plot_categorical_terms")
    assert left["model"].terms == ["age", "region", "diet"]
    assert left["near"].complete and len(left["near"].supports) > 1
    assert all(model.status.name == "OPTIMAL" for model in [left["model"], left["four"], *left["models"]])
    # Of each factor there is one level, if levels are chosen one by one.
    assert sorted(name.split("=")[0] for name in left["separate"].names) == ["age", "diet", "region"]


def test_heredity(run):
    left = run("plot_heredity")
    for k, model in left["with_rule"].items():
        assert model.status.name == "OPTIMAL" and model.objective >= left["without"][k].lower_bound
        factors = {factor for name in model.names if ":" in name for factor in name.split(":")}
        assert factors <= set(model.names)
    assert left["with_rule"][3].names == ["5", "20", "5:20"]
    assert any("5:20" in model.names and "5" not in model.names for model in left["without"].values())


def test_every_example_is_tested():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert NAMES and {name.removeprefix("plot_") for name in NAMES} <= tested
