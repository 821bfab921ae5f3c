"""Links of the documents that are not pages of the site lead to files of the repository."""

import re

import pytest

from docs.pages import ROOT

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md", "src/sparsest/proofs/PROOFS.md")
_LINK = re.compile(r"\]\(([^)#\s]+)")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links(name):
    document = ROOT / name
    links = [link for link in _LINK.findall(document.read_text(encoding="utf-8")) if "://" not in link]
    missing = [link for link in links if not (document.parent / link).exists()]
    assert not missing


def test_readme_keeps_its_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install . && sparsest demo" in text and 'pip install -e ".[test]" && pytest' in text
