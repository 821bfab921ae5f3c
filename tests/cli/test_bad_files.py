"""Broken files and wrong options on the command line: one line that says what to do, and the exit code 2."""

import io
import json
import os
import re
import struct
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from cli.runner import complains, run
from samples import sample
from sparsest import Certificate
from sparsest.datasets import load_folder

X, Y = sample("squared", 25, 6)
RESULT = best_subset(X, Y, 2, gamma=0.1, method="local")
TEXT = RESULT.certificate.to_json()


@pytest.fixture
def folder(tmp_path):
    """A certificate with the folder of its data, all sound."""
    (tmp_path / "proof.json").write_text(TEXT, encoding="utf-8")
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    return tmp_path


def test_sound_files_are_taken(folder):
    assert run("verify", folder / "proof.json", folder).exit_code == 0


def changed(*path, to):
    """The certificate's text with one part replaced; ``...`` in its place removes it."""
    data = json.loads(TEXT)
    part = data
    for name in path[:-1]:
        part = part[name]
    if to is ...:
        del part[path[-1]]
    else:
        part[path[-1]] = to
    return json.dumps(data)


CERTIFICATES = {
    "empty": "",
    "not JSON": "garbage",
    "cut off": TEXT[: len(TEXT) // 2],
    "bytes that are not text": b"\xff\xfe\x00\x80",
    "UTF-16": TEXT.encode("utf-16"),
    "an image": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "a number": "3",
    "a list": "[1, 2]",
    "null": "null",
    "text": '"sparsest certificate"',
    "empty object": "{}",
    "nested lists": "[" * 200_000 + "]" * 200_000,
    "nested objects": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "an integer beyond floats": changed("lower_bound", to=10**400),
    "an integer of too many digits": re.sub(r'"version": \d+', '"version": ' + "9" * 5000, TEXT, count=1),
    "another format": changed("format", to="sparsest model"),
    "a version to come": changed("version", to=99),
    "no version": changed("version", to=...),
    "no problem": changed("problem", to=...),
    "a problem that is text": changed("problem", to="squared"),
    "no loss": changed("problem", "loss", to=...),
    "gamma beyond floats": changed("problem", "gamma", to=10**400),
    "gamma a list": changed("problem", "gamma", to=[1]),
    "no incumbent": changed("incumbent", to=...),
    "no support": changed("arrays", "support", to=...),
    "support not base64": changed("arrays", "support", to=["<i4", 2, "???"]),
    "support of three bytes": changed("arrays", "support", to=["<i4", 2, "AAAA"]),
    "coef a number": changed("arrays", "coef", to=3),
    "coef of whole numbers": changed("arrays", "coef", to=["<i4", 0, ""]),
    "intercept text": changed("incumbent", "intercept", to="low"),
    "objective null": changed("incumbent", "objective", to=None),
    "no bound": changed("lower_bound", to=...),
    "points a number": changed("arrays", "point kinds", to=3),
    "an unknown type": changed("arrays", "step kinds", to=["object", 1, ""]),
    "more entries than the file has": changed("arrays", "dual values", to=["<f8", 10**15, ""]),
    "no steps": changed("arrays", "step kinds", to=...),
    "arrays null": changed("arrays", to=None),
}


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_certificate(folder, kind):
    content = CERTIFICATES[kind]
    (folder / "proof.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    complains(run("verify", folder / "proof.json", folder), "")


@pytest.mark.parametrize("kind", ["empty", "not JSON", "a number", "no problem", "no support", "an unknown type"])
def test_certificate_from_text(kind):
    with pytest.raises(ValueError, match="certificate"):
        Certificate.from_json(CERTIFICATES[kind])


@pytest.mark.parametrize("make", [lambda file: file.mkdir(), lambda file: os.mkfifo(file), lambda file: None])
def test_no_certificate_file(folder, make):
    make(folder / "other")
    complains(run("verify", folder / "other", folder), "there is no file")


def stored(**arrays):
    """The bytes of an npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def claiming(shape, dtype="<f8"):
    """An npz file whose arrays are announced as larger than they are."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)
    return zipped({"X.npy": member, "y.npy": member})


def zipped(members, **settings):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **settings) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def damaged(content, at):
    """The same bytes with some in the middle overwritten."""
    return content[:at] + bytes(20) + content[at + 20 :]


def pickled():
    buffer = io.BytesIO()
    np.savez(buffer, X=np.array([[{}]], dtype=object), y=np.array([None]))
    return buffer.getvalue()


def single():
    buffer = io.BytesIO()
    np.save(buffer, X)
    return buffer.getvalue()


CANNOT, TOGETHER = "cannot be read: save it again", "do not fit together"
SOUND = stored(X=X, y=Y)
COMPRESSED = zipped({"X.npy": single(), "y.npy": single()}, compression=zipfile.ZIP_DEFLATED)
FOLDERS = {
    "empty": (b"", CANNOT),
    "text": (b"X,y\n1,2\n", CANNOT),
    "a zip file's first bytes": (b"PK\x03\x04", CANNOT),
    "cut off": (SOUND[: len(SOUND) // 2], CANNOT),
    "damaged": (damaged(SOUND, 400), CANNOT),
    "damaged compression": (damaged(COMPRESSED, 200), CANNOT),
    "a pickle": (b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00]\x94.", CANNOT),
    "pickled objects": (pickled(), CANNOT),
    "one array": (single(), CANNOT),
    "an archive of text": (zipped({"X.npy": b"1 2 3", "y.npy": b"4"}), CANNOT),
    "a header that cannot be parsed": (zipped({"X.npy": b"\x93NUMPY\x01\x00\x10\x00{{{{((((", "y.npy": b""}), CANNOT),
    "a type that does not exist": (claiming((2, 2), "<z9"), CANNOT),
    "objects in a header": (claiming((2, 2), "|O"), CANNOT),
    "a negative size": (claiming((-5,)), CANNOT),
    "more than the file has": (claiming((1000, 1000)), CANNOT),
    "more than memory": (claiming((10**8, 10**8)), CANNOT),
    "more than integers": (claiming((10**15, 10**15)), CANNOT),
    "no y": (stored(X=X), "has no array y"),
    "nothing": (zipped({}), "has no array y"),
    "no X": (stored(y=Y), "neither an array X in data.npz nor a file X.npz"),
    "X a vector": (stored(X=Y, y=Y), TOGETHER),
    "X a number": (stored(X=1.0, y=Y), TOGETHER),
    "y a matrix": (stored(X=X, y=X), TOGETHER),
    "y too short": (stored(X=X, y=Y[1:]), TOGETHER),
    "NaN in X": (stored(X=np.where(X > 1, np.nan, X), y=Y), "X in"),
    "infinity in y": (stored(X=X, y=np.where(Y > 1, np.inf, Y)), "y in"),
    "too few names": (stored(X=X, y=Y, feature_names=["a"]), "feature_names"),
    "too few weights": (stored(X=X, y=Y, sample_weight=[1.0]), "sample_weight"),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_data(folder, kind):
    content, message = FOLDERS[kind]
    (folder / "data.npz").write_bytes(content)
    complains(run("verify", folder / "proof.json", folder), message)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        load_folder(folder)


BROKEN = "broken sparse matrix"


def parts(**changes):
    """What ``save_npz`` stores of a sparse X, with changes."""
    matrix = sp.csc_array(X)
    arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    return stored(**{"format": b"csc", "_is_array": True, **arrays, **changes})


MATRIX = sp.csc_array(X)
TOO_LARGE, NEGATIVE = (np.where(np.arange(MATRIX.nnz) == 7, j, MATRIX.indices) for j in (2**30, -(2**30)))
SPARSE = {
    "empty": (b"", CANNOT),
    "no format": (stored(data=X), CANNOT),
    "an unknown format": (parts(format=b"abc"), CANNOT),
    "a format that is not stored": (parts(format=b"lil"), CANNOT),
    "no indices": (stored(format=b"csc", data=MATRIX.data, indptr=MATRIX.indptr, shape=X.shape), CANNOT),
    "an index out of range": (parts(indices=TOO_LARGE), BROKEN),
    "a negative index": (parts(indices=NEGATIVE), BROKEN),
    "an index out of range in rows": (parts(format=b"csr", indices=TOO_LARGE, indptr=np.arange(26) * 6), BROKEN),
    "a falling indptr": (parts(indptr=MATRIX.indptr[[0, 3, 2, 1, 4, 5, 6]]), BROKEN),
    "an indptr beyond the entries": (parts(indptr=2 * MATRIX.indptr), CANNOT),
    "a short indptr": (parts(indptr=MATRIX.indptr[:-1]), CANNOT),
    "too few entries": (parts(data=MATRIX.data[:-1]), CANNOT),
    "coordinates out of range": (
        stored(format=b"coo", data=[1.0], row=[0], col=[99], shape=X.shape, _is_array=True),
        CANNOT,
    ),
    "a shape of one number": (parts(shape=[25]), CANNOT),
    "a negative shape": (parts(shape=[-25, 6]), CANNOT),
    "another shape": (parts(shape=[5, 6]), BROKEN),
    "NaN": (parts(data=np.where(MATRIX.data > 1, np.nan, MATRIX.data)), "contains NaN or infinity"),
    "complex numbers": (parts(data=MATRIX.data + 0j), "must hold real numbers"),
    "text": (parts(data=MATRIX.data.astype(str)), "must hold real numbers"),
    "pickled entries": (parts(data=MATRIX.data.astype(object)), CANNOT),
}


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_data(folder, kind):
    content, message = SPARSE[kind]
    np.savez(folder / "data.npz", y=Y)
    (folder / "X.npz").write_bytes(content)
    complains(run("verify", folder / "proof.json", folder), message)
    with pytest.raises(ValueError, match=message):
        load_folder(folder)


def test_more_columns_than_memory(folder):
    """A file can claim many rows in a few bytes; memory is needed only for their columns."""
    np.savez(folder / "data.npz", y=Y)
    empty = {"data": np.empty(0), "indices": np.empty(0, dtype=int), "indptr": np.zeros(26, dtype=int)}
    (folder / "X.npz").write_bytes(parts(format=b"csr", shape=[25, 10**15], **empty))
    complains(run("verify", folder / "proof.json", folder), "memory")


def test_folders_in_place_of_files(folder):
    (folder / "data.npz").unlink()
    (folder / "data.npz").mkdir()
    complains(run("verify", folder / "proof.json", folder), "has no file data.npz")
    complains(run("verify", folder / "proof.json", folder / "proof.json"), "cannot be read as a table")
    (folder / "data.npz").rmdir()
    np.savez(folder / "data.npz", y=Y)
    (folder / "X.npz").mkdir()
    complains(run("verify", folder / "proof.json", folder), "nor a file X.npz")


@pytest.mark.parametrize("path", [None, 3, 1.5, b"folder", [], {}])
def test_folder_of_the_wrong_type(path):
    with pytest.raises(ValueError, match="path must name a folder"):
        load_folder(path)


@pytest.mark.parametrize("path", ["", "nowhere", "a\0b", "x" * 5000], ids=["empty", "absent", "zero", "long"])
def test_folder_that_does_not_exist(folder, path):
    (folder / "data.npz").unlink()
    with pytest.raises(OSError, match=r"no data folder|no file data.npz|too long"):
        load_folder(folder / path)
    complains(run("verify", folder / "proof.json", folder / path), "")


def test_only_debug_shows_where(folder):
    (folder / "proof.json").write_text("garbage", encoding="utf-8")
    files = ["verify", folder / "proof.json", folder]
    complains(run(*files, "--verbose"), "not a readable certificate")
    loud = run(*files, "--debug")
    assert isinstance(loud.exception, ValueError) and "not a readable certificate" in str(loud.exception)


def test_not_valid_is_not_an_error(folder):
    np.savez(folder / "data.npz", X=X, y=Y + 1.0 + np.arange(25))
    shown = run("verify", folder / "proof.json", folder)
    assert shown.exit_code == 1 and shown.stderr == "" and "NOT VALID" in shown.stdout


USAGE = [
    ("demo", "--k", "0"),
    ("demo", "--k", "-3"),
    ("demo", "--k", "1.5"),
    ("demo", "--k", "many"),
    ("demo", "--k"),
    ("demo", "--time-limit", "0"),
    ("demo", "--time-limit", "-1"),
    ("demo", "--time-limit", "soon"),
    ("demo", "--speed", "3"),
    ("demo", "data.csv"),
    ("verify",),
    ("verify", "proof.json"),
    ("verify", "proof.json", ".", "more"),
    ("verify", "proof.json", ".", "--exactly"),
    ("warmup", "now"),
    ("warmup", "--json"),
    ("fit",),
    ("fit", "data.csv", "--k", "few"),
    ("predict", "model.json"),
    ("prove",),
    ("--loud", "demo"),
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_usage(arguments):
    shown = run(*arguments)
    complains(shown, "--help")
    assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_demo_with_a_time_limit_that_is_no_number(as_json):
    shown = run("demo", "--time-limit", "nan", *as_json)
    assert shown.exit_code == 2 and isinstance(shown.exception, SystemExit) and "time" in shown.stderr
