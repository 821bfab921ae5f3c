"""What is proved of exact models, and findings on proved ones alone."""

import math

import pytest

from sparsest.studies import find
from sparsest.studies.certified import changes, only_certified, proofs
from sparsest.studies.findings import Judgement
from studies.made import rows_of


def only_first(cell, number):
    return number == 0


def test_proofs_are_counted_in_every_panel():
    rows = rows_of("reg-hard-fixed-k", certified=only_first)
    *panels, together = proofs(rows)
    assert [one.panel for one in panels] == [panel.name for panel in find("reg-hard-fixed-k").panels("smoke")]
    # Two data sets at two places, three sizes each; half of them are proved.
    assert all((one.fits, one.certified, one.tight, one.improved) == (12, 6, 0, 12) for one in panels)
    assert together.panel == "all" and (together.fits, together.certified) == (24, 12)
    assert (together.median_gap, together.largest_gap) == (0.25, 0.25)
    assert all(math.isnan(one.median_gap) for one in proofs(rows_of("reg-hard-fixed-k")))
    assert proofs([]) == []


def test_what_is_not_proved_is_left_out():
    rows = rows_of("reg-hard-fixed-k", certified=only_first)
    kept = only_certified(find("reg-hard-fixed-k"), rows)
    assert {row["set"] for row in kept if row["method"] == "exact"} == {0}
    assert [row for row in kept if row["method"] != "exact"] == [row for row in rows if row["method"] != "exact"]


def test_the_chosen_model_decides_where_the_size_is_chosen():
    rows = rows_of("reg-hard-cv-k")
    for row in rows:
        if row["method"] == "exact" and row["set"] == 1 and "certified" in row:
            # The chosen size is the true one; the others stay proved.
            row["certified"] = row["k"] != row["k_true"]
    kept = only_certified(find("reg-hard-cv-k"), rows)
    assert {row["set"] for row in kept if row["method"] == "exact"} == {0}


@pytest.mark.parametrize(("certified", "lost"), [(lambda cell, number: True, False), (lambda *_: False, True)])
def test_findings_that_are_lost(certified, lost):
    study = find("reg-hard-fixed-k")
    found = changes(study, rows_of("reg-hard-fixed-k", certified=certified))
    # Without a single proved model nothing is decided otherwise, but less is decided.
    assert found and not any(one.changed for one in found) and any(one.lost for one in found) is lost


def test_proved_models_may_decide_otherwise():
    rows = rows_of("reg-hard-fixed-k", certified=only_first)
    for row in rows:
        if row["method"] == "exact" and "tf" in row:
            row["tf"] = 0 if row["certified"] else row["k_true"]
    study = find("reg-hard-fixed-k")
    changed = {one.finding.text: one.certified.judgement for one in changes(study, rows) if one.changed}
    assert changed["the exact method is the most accurate"] is Judgement.NOT_CONFIRMED
