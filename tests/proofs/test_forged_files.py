"""Forged files: each is refused, or its claim is true even so, in bounded time and memory."""

import base64
import json
import zlib

import numpy as np
import pytest

from proofs.forging import P, valid_or_true
from proofs.helpers import ExactSquares, with_proof
from sparsest.proofs import Certificate, files
from sparsest.proofs.steps import Leaf

pytestmark = pytest.mark.usefixtures("bounded")


def header_of(certificate):
    return json.loads(certificate.to_json())


def unreadable(text):
    with pytest.raises(ValueError, match="this is not a readable certificate"):
        Certificate.from_bytes(text if isinstance(text, bytes) else text.encode())


TEXTS = {
    "nothing": "",
    "garbage": "garbage",
    "a list": "[]",
    "null": "null",
    "an empty object": "{}",
    "another format": '{"format": "something else", "version": 8, "arrays": {}}',
    "another version": '{"format": "sparsest certificate", "version": 3, "arrays": {}}',
    "deep nesting": "[" * 10**6,
    "deep nesting of objects": '{"a":' * 10**6,
    "a gigantic number": '{"format": ' + "9" * 10**6 + "}",
    "not UTF-8": b"\xff\xfe\x00",
    "only the magic": files.MAGIC,
    "a header of 2^63 bytes": files.MAGIC + (2**63).to_bytes(8, "little"),
    "a header that is not JSON": files.MAGIC + (3).to_bytes(8, "little") + b"abc",
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_certificate(name):
    unreadable(TEXTS[name])


def test_truncated_files_are_refused(honest):
    binary, text = honest[0].to_bytes(), honest[0].to_json()
    for length in (*range(0, len(binary), 37), len(binary) - 1):
        unreadable(binary[:length])
    for length in (*range(0, len(text), 97), len(text) - 1):
        unreadable(text[:length])
    unreadable(binary + b"\0")


def test_any_flipped_byte_is_refused_or_true(honest):
    certificate, X, y = honest
    binary = certificate.to_bytes()
    rng = np.random.default_rng(8)
    optimum, n_refused = float(ExactSquares(certificate.statement, X, y).optimum()), 0
    for place in rng.integers(len(binary), size=400).tolist():
        forged = bytearray(binary)
        forged[place] ^= 1 << rng.integers(8)
        try:
            again = Certificate.from_bytes(bytes(forged))
        except ValueError:
            n_refused += 1
            continue
        verdict = again.verify(X, y)
        n_refused += not verdict
        if verdict and again.statement == certificate.statement:
            assert verdict.lower_bound <= optimum * (1.0 + 1e-15)
    assert n_refused > 300


def test_duplicate_keys_are_refused(honest):
    text = honest[0].to_json()
    unreadable(text.replace('"version": 8', '"version": 8, "version": 8'))
    unreadable(text.replace('"gamma"', '"k": 1, "gamma"'))
    unreadable(text.replace('"arrays": {', '"arrays": {"coef": ["<f8", 0, ""], ', 1))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_has_not_are_refused(honest, word):
    data = header_of(honest[0])
    unreadable(json.dumps(data).replace(f'"lower_bound": {data["lower_bound"]}', f'"lower_bound": {word}'))


PROBLEM = {
    "k": ["2", 2.0, -1, True, None, [2], 10**400, 2**60],
    "gamma": ["0.3", 0.0, -1.0, True, None, "nan", 10**400, {}],
    "parameters": ["0.1", None, {"epsilon": 0.1}, [], 10**400],
    "offset": ["false", 1, None, 0.0],
    "exposure": ["false", 1, None, True],
    "l0_penalty": ["1", -1.0, True, 10**400],
    "n": [0, -1, 1.0, True, "20", None, 10**400],
    "p": [0, -1, 5.0, True, "5", None, 10**400],
    "include": [[0, 0], [-1], [P], [0.0], [True], "0", {"0": 1}, None, [[0]], list(range(3))],
    "exclude": [[0, 0], [-1], [P], ["0"], 0, [10**400]],
    "loss": ["cubic", None, 1, ["squared"], {"squared": 1}],
    "fingerprint": [None, 1, []],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in PROBLEM.items() for value in values])
def test_problems_that_are_none(honest, name, value):
    data = header_of(honest[0])
    data["problem"][name] = value
    unreadable(json.dumps(data))


def test_parts_that_are_missing_or_too_many(honest):
    whole = header_of(honest[0])
    for name in whole:
        unreadable(json.dumps({key: value for key, value in whole.items() if key != name}))
    for name in whole["problem"]:
        problem = {key: value for key, value in whole["problem"].items() if key != name}
        unreadable(json.dumps({**whole, "problem": problem}))
    unreadable(json.dumps({**whole, "problem": {**whole["problem"], "extra": 1}}))
    for name in whole["arrays"]:
        arrays = {key: value for key, value in whole["arrays"].items() if key != name}
        unreadable(json.dumps({**whole, "arrays": arrays}))
    for name in ("objective", "intercept"):
        for value in ("high", None, True, [], 10**400):
            unreadable(json.dumps({**whole, "incumbent": {**whole["incumbent"], name: value}}))


def planes(array):
    return array.view(np.uint8).reshape(array.size, array.itemsize).T.tobytes()


def packed(array):
    array = np.asarray(array)
    if array.dtype.kind != "f" and array.size:
        array = np.append(array[:1], np.diff(array))
    return base64.b64encode(zlib.compress(planes(array), 9)).decode()


def with_array(certificate, name, array, **forged):
    """The text of a certificate with another array in place of one, and what is forged of its kind, size and code."""
    data = header_of(certificate)
    array = np.asarray(array)
    entry = {"kind": array.dtype.str, "size": array.size, "code": packed(array)} | forged
    data["arrays"][name] = [entry["kind"], entry["size"], entry["code"]]
    return json.dumps(data)


@pytest.mark.parametrize("size", [10**15, 2**62, 10**400, -1, 1.5, True, None, "3", 1])
def test_sizes_that_are_not_so(honest, size):
    unreadable(with_array(honest[0], "coef", np.ones(2), size=size))


@pytest.mark.parametrize("kind", ["<f8", "<f4", "<i8", "<i4", "<u2"])
def test_planes_of_other_lengths(honest, kind):
    """Planes have no lengths of their own: bytes that are not those of all entries are refused."""
    array = np.ones(5, dtype=kind)
    for content in (planes(array)[:-1], planes(array) + b"\0", planes(array)[:5], b"", planes(array) * 2):
        code = base64.b64encode(zlib.compress(content)).decode()
        unreadable(with_array(honest[0], "coef", array, code=code))


@pytest.mark.parametrize("name", ["step kinds", "point kinds", "coef", "dual values", "tree entries"])
def test_what_unpacks_to_much_more_than_the_file_is_refused(honest, name):
    """A megabyte of zeros compressed a thousandfold, with any stated size."""
    bomb = zlib.compress(bytes(10**8), 9)
    code = base64.b64encode(bomb).decode()
    for kind, size in (("|i1", 10**8), ("<f8", 10**8 // 8), ("<f8", 10), ("|i1", 0)):
        unreadable(with_array(honest[0], name, np.ones(2), size=size, kind=kind, code=code))


@pytest.mark.parametrize("kind", [">f8", "<f2", "|O", "<U4", "<c16", "float64", None, 8, "<f8,<f8", ["<f8"], "|S0"])
def test_types_that_are_not_allowed(honest, kind):
    unreadable(with_array(honest[0], "coef", np.ones(2), kind=kind))


@pytest.mark.parametrize("code", ["not base64!", "AAAA", "A", 5, None, [], "é", "AA==AA=="])
def test_codes_that_are_none(honest, code):
    data = header_of(honest[0])
    data["arrays"]["coef"][2] = code
    unreadable(json.dumps(data))


def test_base64_that_is_not_canonical_is_refused_or_the_same(honest):
    certificate, _, _ = honest
    data, n_padded = header_of(certificate), 0
    for name, (_, _, code) in data["arrays"].items():
        if code.endswith("="):
            n_padded += 1
            at = len(code.rstrip("=")) - 1
            alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
            other = code[:at] + alphabet[alphabet.index(code[at]) ^ 1] + code[at + 1 :]
            forged = {**data, "arrays": {**data["arrays"], name: [*data["arrays"][name][:2], other]}}
            again = Certificate.from_json(json.dumps(forged))
            assert again.to_json() == certificate.to_json()
    assert n_padded


WHOLE = ["support", "step kinds", "step numbers", "fixed in", "combined", "tree features", "tree entries"]
WHOLE += [
    "step row prices",
    "priced rows",
    "priced rows starts",
    "point kinds",
    "point features",
    "point splits",
    "split features",
    "split bases",
    "point features starts",
]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("kind", ["<f8", "<f4"])
def test_whole_numbers_that_are_floating(honest, name, kind):
    _, size, _ = header_of(honest[0])["arrays"][name]
    for value in (0.0, 0.5, np.nan, np.inf, 1e300):
        with np.errstate(over="ignore"):
            array = np.full(max(size, 1), value).astype(kind)
        unreadable(with_array(honest[0], name, array))


FLOATING = ["coef", "center", "multipliers", "tree values", "point values", "split diagonals", "row prices"]


@pytest.mark.parametrize("name", FLOATING)
def test_floating_numbers_that_are_whole(honest, name):
    unreadable(with_array(honest[0], name, np.ones(header_of(honest[0])["arrays"][name][1], dtype="<i4")))


STARTS = [
    "fixed in",
    "priced rows",
    "row prices",
    "multipliers",
    "point features",
    "point values",
    "dual values",
    "split features",
]


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("kind", ["<i8", "<u2", "<i4"])
def test_starts_that_do_not_fit(honest, name, kind):
    certificate, X, y = honest
    parts = header_of(certificate)["arrays"]
    size, total = parts[f"{name} starts"][1], parts[name][1]
    for starts in ([], [0] * size, [0, *[total] * (size - 2), total + 1], [1] * size, [0, total, 0, total][:size]):
        try:
            again = Certificate.from_json(with_array(certificate, f"{name} starts", np.array(starts).astype(kind)))
        except ValueError:
            continue
        valid_or_true(again, X, y)


@pytest.mark.parametrize("name", ["step kinds", "point kinds"])
def test_kinds_that_are_unknown(honest, name):
    size = header_of(honest[0])["arrays"][name][1]
    for kind in (-1, 6, 127, -128):
        unreadable(with_array(honest[0], name, np.full(size, kind, dtype="|i1")))


def test_empty_arrays_are_refused_or_true(honest):
    certificate, X, y = honest
    for name, (kind, _, _) in header_of(certificate)["arrays"].items():
        try:
            again = Certificate.from_json(with_array(certificate, name, np.empty(0, dtype=kind)))
        except ValueError:
            continue
        valid_or_true(again, X, y)


@pytest.mark.parametrize("seed", range(6))
def test_shuffled_arrays_are_refused_or_true(honest, seed):
    certificate, X, y = honest
    rng = np.random.default_rng(seed)
    data = header_of(certificate)
    for name, (kind, size, code) in data["arrays"].items():
        values = files._unpack(name, kind, size, base64.b64decode(code), 10**6)
        try:
            again = Certificate.from_json(with_array(certificate, name, rng.permutation(values)))
        except ValueError:
            continue
        valid_or_true(again, X, y)


def test_extra_arrays_and_a_file_within_a_file_change_nothing(honest):
    certificate, X, y = honest
    data = header_of(certificate)
    data["arrays"]["more"] = data["arrays"]["coef"]
    data["comment"] = certificate.to_json()
    again = Certificate.from_json(json.dumps(data))
    assert again.verify(X, y) and again.to_json() == certificate.to_json()


@pytest.mark.parametrize("difference", [0, 1])
def test_very_many_steps_in_a_small_file(honest, difference):
    """Steps that compress well: what they take in memory is limited by the size of the file."""
    certificate, X, y = honest
    data = header_of(with_proof(certificate, steps=(Leaf(0),)))
    count = 5 * 10**5
    arrays = {"step kinds": np.zeros(count, "|i1"), "step numbers": np.full(count, difference, "<i4")}
    for name, array in (arrays | {"step row prices": np.zeros(count, "<i4")}).items():
        code = zlib.compress(planes(array), 9)
        data["arrays"][name] = [array.dtype.str, count, base64.b64encode(code).decode()]
    unreadable(json.dumps(data))
    # Unused bytes make the file large enough; the check then ends at the second step.
    data["arrays"]["ballast"] = ["<f8", 6000, packed(np.random.default_rng(0).standard_normal(6000))]
    again = Certificate.from_json(json.dumps(data))
    assert len(again.proof.steps) == count and not again.verify(X, y)
