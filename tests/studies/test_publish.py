"""A folder of documents from results: its pages name only files that are there."""

import csv
import gzip
import re

from sparsest.studies.publish import publish
from studies.made import results_of


def test_publish(tmp_path):
    everything = [results_of("reg-hard-fixed-k"), results_of("reg-hard-cv-k")]
    files = publish(everything, tmp_path / "docs")
    assert sorted(file.name for file in files) == sorted(file.name for file in (tmp_path / "docs").iterdir())
    names = {file.name for file in files}
    assert {"findings.md", "models-smoke.csv.gz", "reg-hard-cv-k-smoke-fdr.png", "reg-hard-fixed-k-smoke.csv"} <= names
    for file in files:
        if file.suffix == ".md":
            assert set(re.findall(r"\]\(([^)]*)\)", file.read_text(encoding="utf-8"))) <= names
    page = (tmp_path / "docs" / "reg-hard-fixed-k-smoke.md").read_text(encoding="utf-8")
    for text in ("1 of 40 tasks", "## Findings", "What is proved", "CIO, exact", "low noise"):
        assert text in page
    # Studies of the same data share their rows, which are there once.
    content = gzip.decompress((tmp_path / "docs" / "models-smoke.csv.gz").read_bytes()).decode().splitlines()
    assert len(list(csv.DictReader(content))) == len(everything[0].rows)


def test_a_page_written_by_hand_keeps_its_words(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("# By hand\n\n<!-- overview -->old<!-- end of the overview -->\n\nThe end.\n", encoding="utf-8")
    publish([results_of("reg-roc")], tmp_path)
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("# By hand\n") and text.endswith("\n\nThe end.\n") and "old" not in text
    assert "| [reg-roc](reg-roc-smoke.md) | smoke | 1 of 56 |" in text
    publish([results_of("reg-roc")], tmp_path)
    assert readme.read_text(encoding="utf-8") == text
    readme.write_text("# Without marks\n", encoding="utf-8")
    publish([results_of("reg-roc")], tmp_path)
    assert readme.read_text(encoding="utf-8") == "# Without marks\n"
