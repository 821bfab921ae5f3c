"""Files of certificates: a JSON header and arrays, in base64 within the text or as bytes after it.

The binary form is ``MAGIC``, the length of the header (8 bytes, little-endian), the header, and the arrays one after
the other.  The header describes every array by its type, its number of entries and, in the binary form, its bytes.
Integers are stored as differences (modulo their size).  Before compression with zlib, bytes are reordered: first the
lowest bytes of all entries, then the next ones.  High bytes are similar, and low bytes of rounded numbers are zero.
Points and steps of one kind are stored together; ``starts`` are the indices at which the entries of each begin.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.incumbent import Incumbent
from sparsest.proofs.statement import ADDED_PARTS, Statement
from sparsest.proofs.steps import (
    Branch,
    Combination,
    DualPoint,
    Fix,
    LastFeatures,
    Leaf,
    Point,
    PrimalPoint,
    Proof,
    Regression,
    RegressionTree,
    RowPrices,
    Split,
    SplitPoint,
    Step,
)

Parts = tuple[Statement, Incumbent, float, float, Proof]

MAGIC = b"sparsest proof 8\n"
_FORMAT, _VERSION = "sparsest certificate", 8
# Version 7 has no structure, no limits of single coefficients and no prices of rows.  Version 6 does not have the step
# LastFeatures, either.
_VERSIONS_BEFORE = (6, 7)
_MAGICS_BEFORE = (b"sparsest proof 6\n", b"sparsest proof 7\n")
_TYPES = ("<f8", "<f4", "<i8", "<i4", "<u2", "|i1")
_KINDS = {Leaf: 0, Branch: 1, Fix: 2, Combination: 3, Regression: 4, RegressionTree: 5, LastFeatures: 6}
_DUAL, _PRIMAL, _SPLIT = 0, 1, 2
# The compression level: higher ones take several times as long and save one per cent.
_LEVEL = 6
# Unpacked arrays may be at most this many times as large as the file plus a constant: honest files reach 40, and zlib
# can reach 1030.
_MOST_EXPANSION, _SMALL_BYTES = 100, 5000


def to_json(*parts: Any) -> str:
    """Return a certificate as strict JSON."""
    header, arrays = _pack_all(*parts)
    header["arrays"] = {
        name: [kind, size, base64.b64encode(packed).decode()] for name, (kind, size, packed) in arrays.items()
    }
    return json.dumps(header, allow_nan=False)


def to_bytes(*parts: Any) -> bytes:
    """Return a certificate in the binary form."""
    header, arrays = _pack_all(*parts)
    header["arrays"] = {name: [kind, size, len(packed)] for name, (kind, size, packed) in arrays.items()}
    text = json.dumps(header, allow_nan=False).encode()
    packed = (packed for _, _, packed in arrays.values())
    return b"".join([MAGIC, len(text).to_bytes(8, "little"), text, *packed])


def from_json(text: str) -> Parts:
    """Read what ``to_json`` wrote."""
    return _read(lambda: _from_text(text))


def from_bytes(content: bytes) -> Parts:
    """Read either form."""
    if content.startswith((MAGIC, *_MAGICS_BEFORE)):
        return _read(lambda: _from_binary(content))
    return _read(lambda: _from_text(content.decode()))


Packed = tuple[Any, Any, bytes]


def _pack_all(*parts: Any) -> tuple[dict[str, Any], dict[str, tuple[str, int, bytes]]]:
    """The header without its arrays, and the arrays as type, number of entries and compressed bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    header = _header(arrays, *parts)
    return header, {name: (array.dtype.str, array.size, _pack(array)) for name, array in arrays.items()}


def _pack(array: NDArray[Any]) -> bytes:
    if array.dtype.kind != "f" and array.size:
        array = np.append(array[:1], np.diff(array))
    return zlib.compress(_planes(array.tobytes(), array.dtype.itemsize), _LEVEL)


def _planes(content: bytes, width: int) -> bytes:
    """The first bytes of all entries, then the second ones, and so on; the inverse if ``width`` is their number."""
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, width).T.tobytes()


def _unpack_all(packed: dict[str, Packed]) -> dict[str, NDArray[Any]]:
    """The arrays; ValueError if they are much larger than the file."""
    room = _MOST_EXPANSION * (sum(len(parts[2]) for parts in packed.values()) + _SMALL_BYTES)
    arrays = {}
    for name, parts in packed.items():
        arrays[name] = _unpack(name, *parts, room)
        room -= arrays[name].nbytes
    return arrays


def _unpack(name: str, kind: Any, size: Any, packed: bytes, room: int) -> NDArray[Any]:
    dtype = _type(kind)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise ValueError(f"{name!r} cannot have {size!r} entries")
    length = size * dtype.itemsize
    if length > room:
        raise ValueError(f"{name!r} claims to be much larger than the file")
    content = zlib.decompressobj().decompress(packed, length + 1)
    if len(content) != length:
        raise ValueError(f"the size of {name!r} is not the stated one")
    array = np.frombuffer(_planes(content, size) if size else content, dtype=dtype)
    return array if dtype.kind == "f" else np.cumsum(array, dtype=dtype)


def _read(load: Callable[[], tuple[dict[str, Any], dict[str, Packed]]]) -> Parts:
    try:
        header, packed = load()
        arrays = _unpack_all(packed)
        _add_missing(header, arrays)
        statement = Statement.from_json(header["problem"])
        model = header["incumbent"]
        support = _of_kind(arrays, "support", "iu").astype(np.intp)
        coef, center = (_of_kind(arrays, name, "f").astype(np.float64) for name in ("coef", "center"))
        parts = (_number(model[name]) for name in ("intercept", "rest of intercept"))
        incumbent = Incumbent(support, coef, center, *parts)
        proof = Proof(_steps(arrays), _points(arrays), _splits(arrays), _row_prices(arrays))
        return statement, incumbent, _number(model["objective"]), _number(header["lower_bound"]), proof
    except (LookupError, TypeError, ValueError, OverflowError, RecursionError, zlib.error) as error:
        raise ValueError(f"this is not a readable certificate: {error}") from error


def _add_missing(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Add the arrays that earlier versions lack; ValueError if the problem has parts that they do not support."""
    if header["version"] == _VERSION:
        return
    if not ADDED_PARTS.isdisjoint(header["problem"]):
        raise ValueError(f"the problem has parts that version {header['version']} of the format does not support")
    if header["version"] == _VERSIONS_BEFORE[0]:
        arrays["last bounds"] = np.empty(0)
    arrays["step row prices"] = np.zeros(arrays["step kinds"].size, dtype=np.int32)
    _put_row_prices(arrays, ())


def _parse(text: str) -> dict[str, Any]:
    """Parse strict JSON of this format and version, without repeated keys and without NaN."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key occurs twice")
        return found

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not a number in JSON")

    header = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    known = [(_FORMAT, version) for version in (*_VERSIONS_BEFORE, _VERSION)]
    if not isinstance(header, dict) or (header.get("format"), header.get("version")) not in known:
        raise ValueError(f"it is not of the format {_FORMAT!r}, version {min(_VERSIONS_BEFORE)} to {_VERSION}")
    if not isinstance(header.get("arrays"), dict):
        raise ValueError("the entry 'arrays' is missing")
    return header


def _from_text(text: str) -> tuple[dict[str, Any], dict[str, Packed]]:
    header = _parse(text)
    arrays = header["arrays"].items()
    return header, {name: (kind, size, base64.b64decode(code, validate=True)) for name, (kind, size, code) in arrays}


def _from_binary(content: bytes) -> tuple[dict[str, Any], dict[str, Packed]]:
    begin = len(MAGIC) + 8
    place = begin + int.from_bytes(content[len(MAGIC) : begin], "little")
    if place > len(content):
        raise ValueError("the file ends within its header")
    header = _parse(content[begin:place].decode())
    arrays: dict[str, Packed] = {}
    for name, (kind, size, length) in header["arrays"].items():
        if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length <= len(content) - place:
            raise ValueError(f"the file ends within {name!r}")
        arrays[name] = kind, size, content[place : place + length]
        place += length
    if place != len(content):
        raise ValueError("the file has bytes after its end")
    return header, arrays


def _type(kind: Any) -> np.dtype[Any]:
    if kind not in _TYPES:
        raise ValueError(f"unknown type {kind!r}")
    return np.dtype(kind)


def _number(value: Any) -> float:
    """A number; infinity and NaN are stored as text, because JSON does not have them."""
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or value in ("inf", "-inf", "nan")):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _text_of(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))


def _header(
    arrays: dict[str, NDArray[Any]],
    statement: Statement,
    incumbent: Incumbent,
    objective: float,
    lower_bound: float,
    proof: Proof,
) -> dict[str, Any]:
    """The header without its arrays, which are added to ``arrays``."""
    arrays["support"] = incumbent.support.astype("<i4")
    arrays["coef"] = incumbent.coef.astype("<f8")
    arrays["center"] = incumbent.center.astype("<f8")
    _put_steps(arrays, proof.steps)
    _put_points(arrays, proof.points, statement.p)
    _put_splits(arrays, proof.splits)
    _put_row_prices(arrays, proof.row_prices)
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "problem": statement.to_json(),
        "incumbent": {
            "intercept": _text_of(incumbent.intercept),
            "rest of intercept": _text_of(incumbent.rest),
            "objective": _text_of(objective),
        },
        "lower_bound": _text_of(lower_bound),
    }


def _put_lists(arrays: dict[str, NDArray[Any]], name: str, lists: Sequence[NDArray[Any]], dtype: str) -> None:
    """Store lists of numbers as one array, and the index at which each list begins."""
    arrays[f"{name} starts"] = np.cumsum([0, *(len(part) for part in lists)], dtype="<i8")
    arrays[name] = (np.concatenate(lists) if lists else np.empty(0)).astype(dtype)


def _lists(arrays: dict[str, NDArray[Any]], name: str) -> list[NDArray[Any]]:
    starts, values = _of_kind(arrays, f"{name} starts", "iu").astype(np.int64), arrays[name]
    if not starts.size or starts[0] != 0 or starts[-1] != values.size or (np.diff(starts) < 0).any():
        raise ValueError(f"the starts of {name!r} are not valid")
    return [values[begin:end] for begin, end in pairwise(starts.tolist())]


def _of_kind(arrays: dict[str, NDArray[Any]], name: str, kinds: str) -> NDArray[Any]:
    """An array; ValueError unless its type is of one of these kinds."""
    if arrays[name].dtype.kind not in kinds:
        raise ValueError(f"{name!r} must hold {'floating-point numbers' if kinds == 'f' else 'integers'}")
    return arrays[name]


def _whole(arrays: dict[str, NDArray[Any]], name: str) -> list[NDArray[np.intp]]:
    """Lists of integers, such as column numbers."""
    _of_kind(arrays, name, "iu")
    return [part.astype(np.intp) for part in _lists(arrays, name)]


def _floating(arrays: dict[str, NDArray[Any]], name: str) -> list[NDArray[Any]]:
    _of_kind(arrays, name, "f")
    return _lists(arrays, name)


def _put_steps(arrays: dict[str, NDArray[Any]], steps: Sequence[Step]) -> None:
    arrays["step kinds"] = np.array([_KINDS[type(step)] for step in steps], dtype="|i1")
    # The number of a step: of a point or of a feature; 0 if it has none.
    arrays["step numbers"] = np.array(
        [step[0] if isinstance(step, (Leaf, Branch, Fix)) else 0 for step in steps], dtype="<i4"
    )
    # The number of the prices of rows, counted from 1; 0 if there are none.
    priced = [step.row_prices if isinstance(step, (Leaf, Fix)) else None for step in steps]
    arrays["step row prices"] = np.array([0 if number is None else number + 1 for number in priced], dtype="<i4")
    fixes = [step for step in steps if isinstance(step, Fix)]
    _put_lists(arrays, "fixed in", [fix.inside for fix in fixes], "<i4")
    _put_lists(arrays, "fixed out", [fix.outside for fix in fixes], "<i4")
    combinations = [step for step in steps if isinstance(step, Combination)]
    _put_lists(arrays, "combined", [step.points for step in combinations], "<i4")
    _put_lists(arrays, "multipliers", [step.multipliers for step in combinations], "<f8")
    trees = [step for step in steps if isinstance(step, RegressionTree)]
    _put_lists(arrays, "tree features", [step.features for step in trees], "<i4")
    _put_lists(arrays, "tree values", [step.values for step in trees], "<f8")
    _put_lists(arrays, "tree entries", [step.entries for step in trees], "<i4")
    arrays["last bounds"] = np.array([step.bound for step in steps if isinstance(step, LastFeatures)], dtype="<f8")


def _steps(arrays: dict[str, NDArray[Any]]) -> tuple[Step, ...]:
    fixes = zip(_whole(arrays, "fixed in"), _whole(arrays, "fixed out"), strict=True)
    combinations = zip(_whole(arrays, "combined"), _floating(arrays, "multipliers"), strict=True)
    entries = [part.astype(np.int32) for part in _whole(arrays, "tree entries")]
    trees = zip(_whole(arrays, "tree features"), _floating(arrays, "tree values"), entries, strict=True)
    last = iter(_of_kind(arrays, "last bounds", "f").tolist())
    makers: list[Callable[[int, int | None], Step]] = [
        Leaf,
        lambda number, priced: Branch(number),
        lambda number, priced: Fix(number, *next(fixes), priced),
        lambda number, priced: Combination(*next(combinations)),
        lambda number, priced: Regression(),
        lambda number, priced: RegressionTree(*next(trees)),
        lambda number, priced: LastFeatures(next(last)),
    ]
    kinds, numbers = _of_kind(arrays, "step kinds", "iu"), _of_kind(arrays, "step numbers", "iu")
    if kinds.size and not 0 <= kinds.min() <= kinds.max() < len(makers):
        raise ValueError("unknown kind of step")
    prices = [number - 1 if number else None for number in _of_kind(arrays, "step row prices", "iu").tolist()]
    try:
        parts = zip(kinds.tolist(), numbers.tolist(), prices, strict=True)
        steps = tuple(makers[kind](number, priced) for kind, number, priced in parts)
    except (StopIteration, RuntimeError) as error:
        raise ValueError("the lists of a step are missing") from error
    if any(next(rest, None) is not None for rest in (fixes, combinations, trees, last)):
        raise ValueError("there are lists that belong to no step")
    return steps


def _put_points(arrays: dict[str, NDArray[Any]], points: Sequence[Point], p: int) -> None:
    kinds = {DualPoint: _DUAL, PrimalPoint: _PRIMAL, SplitPoint: _SPLIT}
    arrays["point kinds"] = np.array([kinds[type(point)] for point in points], dtype="|i1")
    sparse = [point for point in points if not isinstance(point, DualPoint)]
    features = "<u2" if p <= 1 << 16 else "<i4"
    _put_lists(arrays, "point features", [point.features for point in sparse], features)
    arrays["point intercepts"] = np.array([getattr(point, "intercept", 0.0) for point in sparse], dtype="<f8")
    arrays["point splits"] = np.array([getattr(point, "split", 0) for point in sparse], dtype="<i4")
    for name, numbers in (
        ("dual values", [point.values for point in points if isinstance(point, DualPoint)]),
        ("point values", [point.values for point in sparse]),
    ):
        single = all(values.dtype == np.float32 for values in numbers)
        _put_lists(arrays, name, numbers, "<f4" if single else "<f8")


def _points(arrays: dict[str, NDArray[Any]]) -> tuple[Point, ...]:
    duals = iter(_floating(arrays, "dual values"))
    sparse = zip(
        _whole(arrays, "point features"),
        _floating(arrays, "point values"),
        _of_kind(arrays, "point intercepts", "f").tolist(),
        _of_kind(arrays, "point splits", "iu").tolist(),
        strict=True,
    )
    points: list[Point] = []
    try:
        for kind in _of_kind(arrays, "point kinds", "iu").tolist():
            if kind == _DUAL:
                points.append(DualPoint(next(duals)))
                continue
            features, values, intercept, split = next(sparse)
            if kind not in (_PRIMAL, _SPLIT):
                raise ValueError("unknown kind of point")
            primal = kind == _PRIMAL
            points.append(PrimalPoint(features, values, intercept) if primal else SplitPoint(features, values, split))
    except StopIteration:
        raise ValueError("a point is missing") from None
    if next(duals, None) is not None or next(sparse, None) is not None:
        raise ValueError("there are more points than kinds")
    return tuple(points)


def _put_splits(arrays: dict[str, NDArray[Any]], splits: Sequence[Split]) -> None:
    _put_lists(arrays, "split features", [split.features for split in splits], "<i4")
    _put_lists(arrays, "split diagonals", [split.delta for split in splits], "<f8")
    # The number of the base, counted from 1; 0 if there is none.
    arrays["split bases"] = np.array([0 if s.base is None else s.base + 1 for s in splits], dtype="<i4")


def _splits(arrays: dict[str, NDArray[Any]]) -> tuple[Split, ...]:
    bases = _of_kind(arrays, "split bases", "iu").tolist()
    parts = zip(_whole(arrays, "split features"), _floating(arrays, "split diagonals"), bases, strict=True)
    return tuple(Split(features, delta, base - 1 if base else None) for features, delta, base in parts)


def _put_row_prices(arrays: dict[str, NDArray[Any]], prices: Sequence[RowPrices]) -> None:
    _put_lists(arrays, "priced rows", [one.rows for one in prices], "<i4")
    _put_lists(arrays, "row prices", [one.values for one in prices], "<f8")


def _row_prices(arrays: dict[str, NDArray[Any]]) -> tuple[RowPrices, ...]:
    parts = zip(_whole(arrays, "priced rows"), _floating(arrays, "row prices"), strict=True)
    return tuple(RowPrices(rows, values) for rows, values in parts)
