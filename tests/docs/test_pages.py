"""Every line of code of the guide and the README runs, and prints what the page says."""

import matplotlib
import pytest

from docs import pages


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    """Pages write files; plots need no screen."""
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "page", [*pages.PAGES, pages.ROOT / "README.md"], ids=lambda page: f"{page.parent.name}/{page.stem}"
)
def test_page(page):
    found = pages.failures_of(page.read_text(encoding="utf-8"), page.stem)
    assert not found, "\n\n".join(found)


def test_checker_tells_wrong_numbers_and_words():
    right = "objective 700453.27, gap 0.01%, 5 nodes, 0.05 s"
    check = pages.Checker().check_output
    assert check(right, "objective 700453.29, gap 0.02%, 7 nodes, 0.1 s", 0)
    assert not check(right, "objective 710453.27, gap 0.01%, 5 nodes, 0.05 s", 0)
    assert not check(right, "target 700453.27, gap 0.01%, 5 nodes, 0.05 s", 0)
