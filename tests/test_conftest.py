"""Tests of shared data are skipped in a bare clone, and fail where the data are required; long tests come first."""

import pytest

import conftest

VARIABLE = "SPARSEST_SHARED_DATA"
MISSING = "there is no folder ../shared/data beside the repository"


@pytest.fixture
def setup(request, monkeypatch, tmp_path):
    """What happens before a test with these marks, where the shared data would be in an empty folder."""
    monkeypatch.setattr(conftest, "SHARED_DATA", tmp_path / "data")
    monkeypatch.delenv(VARIABLE, raising=False)

    def of(*marks):
        for mark in marks:
            request.node.add_marker(mark)
        conftest.pytest_runtest_setup(request.node)

    return of


def test_a_bare_clone_skips(setup):
    with pytest.raises(pytest.skip.Exception, match=MISSING):
        setup("shared_data")


def test_required_data_that_are_missing_fail(setup, monkeypatch):
    monkeypatch.setenv(VARIABLE, "required")
    with pytest.raises(pytest.fail.Exception, match=f"{MISSING}, and {VARIABLE}=required asks for it"):
        setup("shared_data")


@pytest.mark.parametrize("required", [False, True])
def test_data_that_are_there_are_used(setup, shared_data, monkeypatch, tmp_path, required):
    if required:
        monkeypatch.setenv(VARIABLE, "required")
    (tmp_path / "data").mkdir()
    assert setup("shared_data") is None
    assert shared_data == tmp_path / "data"


def test_other_tests_never_ask(setup, monkeypatch):
    monkeypatch.setenv(VARIABLE, "required")
    assert setup("fuzz") is None


class Item:
    """A test with some marks."""

    def __init__(self, *marks):
        self.marks = marks

    def get_closest_marker(self, name):
        return name if name in self.marks else None


def test_long_tests_come_first_and_all_else_keeps_its_order():
    items = first, long, second, other = [Item(), Item("long"), Item("chromium"), Item("chromium", "long")]
    conftest.pytest_collection_modifyitems(items)
    assert items == [long, other, first, second]
