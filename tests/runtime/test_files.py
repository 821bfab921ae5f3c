"""Files that are written whole or not at all."""

import os

import pytest

from sparsest.runtime.files import write_whole


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "model.json"
    write_whole(path, "first")
    write_whole(path, b"second")
    assert path.read_text() == "second" and [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_what_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_whole(path, "new" * 1000)
    assert path.read_text() == "old" and [file.name for file in tmp_path.iterdir()] == ["model.json"]


def test_places_that_cannot_be_written_to(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_whole(tmp_path, "")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_whole(tmp_path / "nowhere" / "model.json", "")
