"""The page of all studies: its content, its escaping, and how Chromium sees it."""

import re

import pytest

from report.chromium import visit
from sparsest.studies.report import report
from studies.made import results_of


def page():
    return report([results_of("reg-hard-fixed-k", certified=lambda cell, number: number == 0), results_of("reg-roc")])


def test_content():
    text = page()
    assert "<script" not in text and "<made up>" not in text and "&lt;made up&gt;" in text
    plain = re.sub(r"<[^>]*>", "", text)
    for part in ("reg-hard-fixed-k", "What is proved", "not confirmed", "the elastic net stalls below 1", "1 of 40"):
        assert part in plain
    # All that it names is inside.
    assert set(re.findall(r'(?:src|href)="(data|#)?', text)) == {"data", "#"}
    assert set(re.findall(r'href="#([^"]*)"', text)) == set(re.findall(r'section id="([^"]*)"', text))
    assert text.count("<figure>") == 5 and "http" not in text


@pytest.mark.chromium
def test_chromium(tmp_path):
    """It renders without console messages or network requests."""
    file = tmp_path / "report.html"
    file.write_text(page(), encoding="utf-8")
    for flags in (("--window-size=400,800",), ("--blink-settings=preferredColorScheme=0",)):
        seen = visit(file, tmp_path, *flags)
        assert seen.console == [] and seen.requests == [], seen
        assert "What is proved" in seen.dom
