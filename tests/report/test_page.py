"""The report: its content, its escaping, and how Chromium sees it."""

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from checks import best_subset
from report.chromium import visit
from samples import sample, sample_weights
from sparsest import BestSubsetRegressor, bootstrap, penalty_path
from sparsest.report import Curve, model_report, path_report
from sparsest.report.alternatives import describe
from sparsest.report.checks import held_out_part
from sparsest.runtime.events import Status
from sparsest.runtime.progress import Record
from sparsest.subset.tree.near_optimal import NearOptimal

EVIL = "<script>alert(1)</script>"
NAMES = [EVIL, *(f"gene {j}" for j in range(1, 8))]


def report(loss="squared", k=3, weighted=False, target=EVIL, **extra):
    X, y = sample(loss, 80, 8)
    labels = np.where(y > 0, "ill", "well") if loss in ("logistic", "hinge") else y
    weights, record = sample_weights(weighted, 80), Record()
    asked = {"loss": loss, "gamma": 0.3, "include": [0], "sample_weight": weights, "callback": record.take}
    result = best_subset(pd.DataFrame(X, columns=NAMES), labels, k, **asked)
    text = model_report(
        result, X, labels, rows={} if weights is None else {"sample_weight": weights}, record=record, target=target,
        command=f"sparsest fit '{EVIL}'", notes=[EVIL], ids=[EVIL] * 80, **extra,
    )  # fmt: skip
    return result, text


@pytest.mark.parametrize(
    ("loss", "weighted"), [("squared", False), ("squared", True), ("logistic", True), ("hinge", False)]
)
def test_content(loss, weighted):
    curve = Curve([1, 2, 3], [0.1, 0.3, 0.2], [0.1, 0.1, 0.1], 2, "accuracy")
    result, text = report(loss, weighted=weighted, curve=curve)
    plain = re.sub(r"\s+", " ", text)
    assert "<script" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    for part in ("Answer", "How sure is it?", "How many features?", "Alternatives", "Checks", "How to reproduce"):
        assert f"<h2>{part}</h2>" in text
    assert "No other choice of up to 3 features can fit better than this one by more than" in plain
    assert all(f"{value:+.5g}" in text for value in result.coef[result.support])
    assert result.statement.fingerprint in text and "sparsest verify model.json DATA" in text
    assert "On rows that the model had not seen" in plain
    assert ("area under the ROC curve" in plain) == (loss != "squared") and ("R²" in plain) == (loss == "squared")
    assert ("no curvature" in plain) == (loss == "hinge")
    assert not re.search(r"(src|href)=\"(?!data:)", text) and "http" not in text.replace("http-equiv", "")


def test_facts_are_beside_the_proof():
    """What the model explains, what any other could, and whether there are enough data; doubts come first."""
    result, text = report("logistic", k=5)
    part = html.unescape(re.sub(r"\s+", " ", text)).split("<h2>How sure is it?</h2>")[1].split("<h2>")[0]
    assert all(line in part for line in result.explained_lines())
    assert "Rows of each class: 40 ill, 40 well." in part and "Without features 50.0% of the labels are wrong" in part
    assert "Too few data for 5 features: 8 rows of the rarer class for each" in part
    assert part.index("Too few data") < part.index("This model explains") and "had not seen" in part
    _, enough = report("squared", k=3)
    assert "Too few data" not in enough and "Without features the typical error is" in enough


def test_stability():
    X, y = sample("squared", 80, 8, noise=3.0)
    found = bootstrap(BestSubsetRegressor(3), pd.DataFrame(X, columns=NAMES), y, n_resamples=6, random_state=0)
    _, text = report(stability=found)
    part = text.split("<h2>How stable is the choice?</h2>")[1].split("<h2>")[0].replace("<wbr>", "")
    assert "repeated on 6 resamples" in part and f"{100 * found.model_frequency:.1f} % of them" in part
    for j in found.used.tolist():
        assert html.escape(found.name(j)) in part and f"{100 * found.inclusion[j]:.0f} % " in part
    assert "<script" not in part
    kinks = replace(found, reference=np.full(8, np.nan), reference_error=np.full(8, np.nan), reference_kind=None)
    assert report(stability=kinks)[1].count("–</td>") >= 2 * found.used.size


def test_alternatives():
    result, _ = report()
    best = result.support
    other = np.sort(np.append(best[1:], next(j for j in range(8) if j not in best)))
    near = NearOptimal(
        [best, other], [result.objective, 1.002 * result.objective], 0, True, Status.OPTIMAL, 1, 1.0, [], {}
    )
    found = describe(result, near, 0.01)
    assert found.sentences[0] == "There is 1 other choice within 1 %, and provably no more."
    assert found.sentences[1].startswith("All of them contain ") and "0.200 %" in found.choices
    assert found.swaps == [f"{NAMES[best[0]]} ↔ {NAMES[other[~np.isin(other, best)][0]]}"]
    alone = describe(result, near._replace(supports=[best], objectives=[result.objective]), 0.01)
    assert alone.sentences == ["There is no other choice that fits within 1 % of this one."]
    better = describe(result, near._replace(objectives=[result.objective, 0.998 * result.objective]), 0.01)
    assert "One of them fits better than the answer above" in better.sentences[-1] and "−0.200 %" in better.choices
    cut = describe(result, near._replace(supports=[best], objectives=[result.objective], complete=False), 0.01)
    assert "before it had found one: there may be many" in cut.sentences[0]


@pytest.mark.parametrize("status", Status)
def test_what_is_said_of_the_search_is_true_in_every_status(status):
    X, y = sample("squared", 80, 8)
    record = Record()
    result = replace(best_subset(X, y, 3, gamma=0.3, callback=record.take), status=status)
    plain = re.sub(r"\s+", " ", model_report(result, X, y, record=record, model=None))
    assert ("This is proved, not estimated" in plain) == (status is Status.OPTIMAL)
    assert ("Here they have not met" in plain) == (status is not Status.OPTIMAL)
    assert ("may exist; none was found" in plain) == (status is not Status.OPTIMAL)
    assert ("were not looked for" in plain) == ("No rows were held out" in plain) == (status is Status.INTERRUPTED)
    assert "This model was not saved" in plain
    unproved = re.sub(r"\s+", " ", model_report(replace(result, lower_bound=-1.0), X, y, hurry=lambda: True))
    assert "Nothing is proved about how much better" in unproved and "were not looked for" in unproved


def test_a_prediction_worse_than_the_mean_is_called_that():
    X, y = sample("squared", 40, 8)
    result = best_subset(X, y, 3, gamma=0.3)
    told = held_out_part(result, -10.0 * y, y, None, "y")
    assert "no better than its mean would (R² = -" in told.sentence


# Counts the cells of tables whose content is wider than they are, and whether the page itself is.
_TOO_WIDE = """<script>
const cells = [...document.querySelectorAll("td, th, li, p")].filter(cell => cell.scrollWidth > cell.clientWidth + 1);
const page = document.documentElement;
document.title = `cut off: ${cells.length}, page: ${page.scrollWidth > page.clientWidth + 1}`;
</script>"""


@pytest.mark.chromium
@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_cut_off(tmp_path, width):
    """Also with a long name of the target, which is in the labels of a phone's table."""
    target = "progression of the disease after one year of treatment"
    curve = Curve([1, 2, 3], [0.1, 0.3, 0.2], [0.1, 0.1, 0.1], 2, "accuracy")
    page = tmp_path / "report.html"
    for loss in ("squared", "logistic"):
        # The page forbids scripts, so that has to go first.
        _, text = report(loss, target=target, curve=curve)
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        page.write_text(text + _TOO_WIDE, encoding="utf-8")
        for scheme in (0, 1):
            seen = visit(
                page, tmp_path, f"--window-size={width},800", f"--blink-settings=preferredColorScheme={scheme}"
            )
            assert "<title>cut off: 0, page: false</title>" in seen.dom
    page.write_text("<p style='width: 9em; white-space: nowrap'>words that are much wider</p>" + _TOO_WIDE)
    assert "cut off: 1" in visit(page, tmp_path, f"--window-size={width},800").dom


@pytest.mark.chromium
def test_chromium(tmp_path):
    """It renders without console messages or network requests; a page that has both is detected."""
    page = tmp_path / "report.html"
    X, y = sample("squared", 80, 8)
    for text in (report("logistic")[1], path_report(penalty_path(X, y, alphas=20), NAMES, target=EVIL)):
        page.write_text(text, encoding="utf-8")
        for flags in (("--window-size=400,800",), ("--blink-settings=preferredColorScheme=0",)):
            seen = visit(page, tmp_path, *flags)
            assert seen.console == [] and seen.requests == [], seen
            assert "</svg>" in seen.dom and "How to reproduce" in seen.dom and "<script" not in seen.dom
    page.write_text("<img src='http://example.invalid/a.png'><script>console.error('loud')</script>", encoding="utf-8")
    seen = visit(page, tmp_path)
    assert any("loud" in line for line in seen.console) and seen.requests == ["http://example.invalid/a.png"]


def test_columns_of_a_group_follow_their_term():
    """What a term adds is stated once, in a separate row; a term of one column has one row."""
    X, y = sample("squared", 80, 8)
    terms = ["diet", "diet", "diet", *(f"gene {j}" for j in range(3, 8))]
    names = [f"{term}={j}" if term == "diet" else term for j, term in enumerate(terms)]
    result = best_subset(
        pd.DataFrame(X, columns=names), y, 3, gamma=0.3, feature_groups=terms, include=["diet=0"], callback=None
    )
    text = model_report(result, X, y, rows={}, record=Record(), target="y", command="", notes=[], ids=None)
    answer = text[text.index("<h2>Answer</h2>") : text.index("<h2>How sure is it?</h2>")]
    cells = [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[dh][^>]*>.*?</t[dh]>", answer, re.S)]
    start = cells.index("diet")
    assert "%" in cells[start + 1] and cells[start + 2] == ""
    at = cells.index("– diet=0")
    assert cells[at + 1] == "" and cells[at + 2] == f"{result.coef[0]:+.5g}"
    other = cells.index(result.terms[-1])
    assert "%" in cells[other + 1] and cells[other + 2] == f"{result.coef[result.support[-1]]:+.5g}"
    assert sum("%" in cell for cell in cells) == len(result.terms) and "or the whole group of columns" in answer
