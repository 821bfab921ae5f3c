"""Both forms of a file give back what was written, bit by bit."""

import json
from dataclasses import replace

import numpy as np
import pytest

from proofs.helpers import certificate_of, indices, sample
from sparsest.proofs import Certificate, files
from sparsest.proofs.statement import ADDED_PARTS
from sparsest.proofs.steps import (
    LEAF,
    Branch,
    Combination,
    DualPoint,
    Fix,
    LastFeatures,
    Leaf,
    PrimalPoint,
    Proof,
    Regression,
    RegressionTree,
    RowPrices,
    Split,
    SplitPoint,
)

STEPS = (
    Fix(0, indices(), indices(5)),
    Branch(2),
    Leaf(0),
    Branch(3),
    Combination(indices(0, 1, 1), np.array([0.1, 1 / 3, 1e-300])),
    Fix(1, indices(0, 1), indices(), 1),
    Leaf(2, 0),
    Branch(4),
    Regression(),
    RegressionTree(indices(0, 4), np.array([0.3, -1e100]), np.array([1, LEAF, LEAF], dtype=np.int32)),
    LastFeatures(1 / 3),
    LastFeatures(-np.inf),
)
POINTS = (
    DualPoint(np.linspace(-1.0, 1.0, 12)),
    PrimalPoint(indices(0, 4), np.array([0.1, -1 / 3]), 0.7),
    SplitPoint(indices(), np.empty(0), 0),
    SplitPoint(indices(5, 1), np.array([5e-324, 1.7e308]), 1),
)
ROW_PRICES = (RowPrices(indices(2, 0), np.array([0.1, 1e300])), RowPrices(indices(), np.empty(0)))
SPLITS = (Split(np.arange(6), np.full(6, 0.1)), Split(indices(3), np.array([0.2]), 0))


@pytest.fixture
def certificate():
    X, y = sample(12, 6)
    plain = certificate_of(X, y, Proof((Leaf(0),), POINTS[:1]), support=(0, 4), k=2)
    return replace(plain, proof=Proof(STEPS, POINTS, SPLITS, ROW_PRICES))


def equal(first, second):
    if isinstance(first, tuple):
        return type(first) is type(second) and len(first) == len(second) and all(map(equal, first, second))
    return np.array_equal(first, second)


def assert_same(one, other):
    assert one.statement == other.statement
    for name in ("objective", "lower_bound"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
    for a, b in zip(one.incumbent, other.incumbent, strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    for part in ("steps", "points", "splits", "row_prices"):
        assert equal(tuple(getattr(one.proof, part)), tuple(getattr(other.proof, part)))


def test_both_forms_give_back_what_was_written(certificate, tmp_path):
    text, binary = certificate.to_json(), certificate.to_bytes()
    forms = [Certificate.from_json(text), Certificate.from_bytes(binary), Certificate.from_bytes(text.encode())]
    for name in ("proof.json", "proof.bin"):
        certificate.save(tmp_path / name)
        forms.append(Certificate.load(str(tmp_path / name)))
    for again in forms:
        assert_same(certificate, again)
        assert again.to_json() == text and again.to_bytes() == binary
    assert (tmp_path / "proof.json").read_bytes() == text.encode()
    assert (tmp_path / "proof.bin").read_bytes().startswith(files.MAGIC)


LATER = {6: ["last bounds"], 7: []}
SINCE_8 = ["step row prices", "priced rows", "priced rows starts", "row prices", "row prices starts"]


@pytest.mark.parametrize("version", LATER)
def test_files_of_former_versions_are_read(certificate, version):
    """They have no arrays for the steps that were added, and no structure."""
    missing = [*LATER[version], *SINCE_8]
    steps = [step._replace(row_prices=None) if isinstance(step, (Leaf, Fix)) else step for step in STEPS]
    proof = Proof(steps[: -2 if version == 6 else None], POINTS, SPLITS)
    old = replace(certificate, proof=proof)

    def reduced(header):
        arrays = {name: part for name, part in header["arrays"].items() if name not in missing}
        problem = {name: part for name, part in header["problem"].items() if name not in ADDED_PARTS}
        return {**header, "version": version, "arrays": arrays, "problem": problem}

    header = json.loads(old.to_json())
    assert_same(old, Certificate.from_json(json.dumps(reduced(header))))
    size = len(files.MAGIC)
    binary = old.to_bytes()
    place = size + 8 + int.from_bytes(binary[size : size + 8], "little")
    inner = json.loads(binary[size + 8 : place])
    text = json.dumps(reduced(inner)).encode()
    kept, body = b"", binary[place:]
    for name, (_, _, part) in inner["arrays"].items():
        kept += b"" if name in missing else body[:part]
        body = body[part:]
    content = f"sparsest proof {version}\n".encode() + len(text).to_bytes(8, "little") + text + kept
    assert_same(old, Certificate.from_bytes(content))
    for name in ADDED_PARTS:
        newer = {**reduced(header), "problem": {**reduced(header)["problem"], name: None}}
        with pytest.raises(ValueError, match=f"parts that version {version} of the format does not support"):
            Certificate.from_json(json.dumps(newer))


def test_a_missing_bound_is_noticed(certificate):
    header = json.loads(certificate.to_json())
    del header["arrays"]["last bounds"]
    with pytest.raises(ValueError, match="last bounds"):
        Certificate.from_json(json.dumps(header))


def test_text_is_strict_json(certificate):
    """Infinity and NaN are not numbers of JSON, whichever field they are in."""
    model = certificate.incumbent._replace(intercept=np.inf)
    odd = replace(certificate, objective=np.nan, lower_bound=-np.inf, incumbent=model)
    odd = replace(odd, statement=replace(odd.statement, gamma=np.inf))
    json.loads(odd.to_json(), parse_constant=pytest.fail)
    assert_same(odd, Certificate.from_json(odd.to_json()))


def test_an_empty_proof(certificate):
    empty = replace(certificate, proof=Proof(()))
    for again in (Certificate.from_json(empty.to_json()), Certificate.from_bytes(empty.to_bytes())):
        assert_same(empty, again)


def test_single_precision_is_kept(certificate):
    values = np.linspace(0.0, 1.0, 12).astype(np.float32)
    points = (DualPoint(values), PrimalPoint(indices(1), np.ones(1, dtype=np.float32), 0.0))
    single = replace(certificate, proof=Proof((Leaf(0),), points))
    again = Certificate.from_bytes(single.to_bytes())
    assert all(point.values.dtype == np.float32 for point in again.proof.points)
    assert_same(single, again)


def test_many_columns_need_wider_numbers(certificate):
    wide = replace(certificate, statement=replace(certificate.statement, p=10**5))
    points = (PrimalPoint(indices(70000, 3), np.ones(2), 0.0),)
    wide = replace(wide, proof=Proof((Leaf(0),), points))
    assert_same(wide, Certificate.from_bytes(wide.to_bytes()))


def test_large_proofs_are_small(certificate):
    """Points and steps of one kind are stored together: a few bytes for each entry."""
    rng = np.random.default_rng(0)
    points = [PrimalPoint(rng.permutation(6)[:3], rng.standard_normal(3).astype(np.float32), 0.1) for _ in range(2000)]
    steps = [Branch(0)] * 1999 + [Leaf(i) for i in range(2000)]
    large = replace(certificate, proof=Proof(steps, points))
    assert len(large.to_bytes()) < 2000 * 40
    assert_same(large, Certificate.from_bytes(large.to_bytes()))


@pytest.mark.parametrize("array", [[], [5], [3, 1, 2], [0, 2**31 - 1, -(2**31)], [-1, -1, 7]])
def test_differences_of_whole_numbers_wrap_around(array):
    numbers = np.array(array, dtype="<i4")
    again = files._unpack("numbers", "<i4", numbers.size, files._pack(numbers), 100)
    np.testing.assert_array_equal(again, numbers)


@pytest.mark.parametrize("kind", files._TYPES)
@pytest.mark.parametrize("size", [0, 1, 2, 7, 1000])
def test_planes_of_all_types_give_back_all_bytes(kind, size):
    dtype = np.dtype(kind)
    numbers = np.frombuffer(np.random.default_rng(size).bytes(size * dtype.itemsize), dtype=dtype)
    again = files._unpack("numbers", kind, size, files._pack(numbers), 8 * size)
    assert again.dtype == dtype and again.tobytes() == numbers.tobytes()


def test_rounded_numbers_take_fewer_bytes():
    """Their low bytes are zero, and these are stored together."""
    numbers = np.random.default_rng(1).standard_normal(10_000).astype(np.float32)
    rounded = (np.round(numbers * 1024.0) / 1024.0).astype(np.float32)
    assert len(files._pack(rounded)) < 0.65 * len(files._pack(numbers))
