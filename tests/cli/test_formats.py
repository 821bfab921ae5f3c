"""Every format that is read on demand, in every command: the models of the matrix in memory, and proofs that hold."""

import bed_reader
import h5py
import numpy as np
import pandas as pd
import pgenlib
import pytest
import scipy.sparse as sp
import zarr

from cli.runner import run
from sparsest import (
    BestSubsetRegressorCV,
    Certificate,
    PathResult,
    PenalizedRegressorCV,
    Result,
    advise,
    best_subset,
    penalty_path,
)
from sparsest.core.designs import Sparse, Streamed, as_design
from sparsest.runtime.events import Alpha, Pass
from sparsest.runtime.faults import injected
from sparsest.runtime.sizes import resized

N, P, K = 48, 6, 2


@pytest.fixture(autouse=True)
def everything_is_large():
    with resized(large_matrix=1):
        yield


def copies():
    """Numbers of copies of an allele: what all formats can hold, genotypes too."""
    return np.random.default_rng(0).integers(0, 3, (N, P)).astype(np.float64)


def response(X):
    return X[:, 1] - 2.0 * X[:, 4] + 0.1 * np.random.default_rng(1).standard_normal(N)


def write_npy(path, X, order="C"):
    np.save(path / "x.npy", np.array(X, order=order))
    return path / "x.npy"


def write_bed(path, X):
    bed_reader.to_bed(path / "x.bed", X)
    return path / "x.bed"


def write_pgen(path, X):
    with pgenlib.PgenWriter(str(path / "x.pgen").encode(), N, variant_ct=P, nonref_flags=False) as file:
        for variant in np.ascontiguousarray(X.T.astype(np.int8)):
            file.append_biallelic(variant)
    (path / "x.psam").write_text("#IID\n" + "".join(f"s{i}\n" for i in range(N)))
    lines = (f"1\t{j + 1}\trs{j}\tA\tG\n" for j in range(P))
    (path / "x.pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n" + "".join(lines))
    return path / "x.pgen"


def write_hdf5(path, X):
    with h5py.File(path / "x.h5", "w") as file:
        file["X"] = X
    return path / "x.h5"


def write_annotated(path, X, kind=None):
    with h5py.File(path / "x.h5ad", "w") as file:
        if kind is None:
            file["X"] = X
        else:
            stored, group = kind(X), file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = f"{stored.format}_matrix", X.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(stored, part)
        for part, count in (("obs", N), ("var", P)):
            file.create_group(part).attrs["_index"] = "name"
            file[part]["name"] = [f"{part}{j}" for j in range(count)]
    return path / "x.h5ad"


def write_zarr(path, X):
    zarr.create_array(str(path / "x.zarr"), shape=X.shape, chunks=(20, P), dtype=X.dtype)[:] = X
    return path / "x.zarr"


def frame(X):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(P)])


def write_parquet(path, X):
    frame(X).to_parquet(path / "x.parquet")
    return path / "x.parquet"


def write_feather(path, X, ending=".feather"):
    frame(X).to_feather(path / f"x{ending}")
    return path / f"x{ending}"


FORMATS = {
    "npy in rows": write_npy,
    "npy in columns": lambda path, X: write_npy(path, X, "F"),
    "bed": write_bed,
    "pgen": write_pgen,
    "HDF5": write_hdf5,
    "AnnData": write_annotated,
    "AnnData csr": lambda path, X: write_annotated(path, X, sp.csr_array),
    "AnnData csc": lambda path, X: write_annotated(path, X, sp.csc_array),
    "zarr": write_zarr,
    "Parquet": write_parquet,
    "Feather": write_feather,
    "Arrow": lambda path, X: write_feather(path, X, ".arrow"),
}


@pytest.fixture(params=FORMATS)
def stored(request, tmp_path):
    """The file, the matrix, a response, and the options that name the file of the response."""
    X = copies()
    y = response(X)
    np.save(tmp_path / "y.npy", y)
    return FORMATS[request.param](tmp_path, X), X, y, ("--target", tmp_path / "y.npy")


def succeeds(*arguments):
    shown = run(*arguments)
    assert shown.exit_code == 0, (shown.output, shown.stderr, shown.exception)
    return shown


def test_commands(stored, tmp_path):
    """Files in blocks are never loaded; models and predictions are those of the matrix in memory."""
    path, X, y, target = stored
    model, many, chosen = (tmp_path / f"{name}.json" for name in ("model", "path", "cv"))
    shown = succeeds("fit", path, *target, "--k", K, "--out", model)
    assert f"{N} × {P} entries are read in blocks and not loaded" in shown.stderr
    result, known = Result.load(model), best_subset(X, y, K)
    assert result.support.tolist() == known.support.tolist() and result.certificate.verify(X, y)
    np.testing.assert_allclose(result.coef, known.coef, rtol=1e-9, atol=1e-12)
    assert "valid" in succeeds("verify", model, path, *target).stdout

    def predicted(*arguments):
        succeeds("predict", *arguments, path, "--out", tmp_path / "p.csv", "--force")
        return pd.read_csv(tmp_path / "p.csv")["prediction"]

    np.testing.assert_allclose(predicted(model), known.predict(X), rtol=1e-9)
    succeeds("path", path, *target, "--k", K, "--out", many)
    found = PathResult.load(many)
    np.testing.assert_allclose(predicted(many), found.predict(X, alpha=found.alpha_of(K)), rtol=1e-9)
    succeeds("cv", path, *target, "--ks", "1-2", "--folds", 2, "--out", chosen)
    assert Result.load(chosen).certificate.verify(X, y)
    assert "sparsest" in succeeds("advise", path, *target).stdout
    succeeds("convert", path, tmp_path / "out.npy")
    assert np.array_equal(np.load(tmp_path / "out.npy"), X)


def test_functions_and_estimators(stored):
    """The same in Python, where X is the path of the file."""
    path, X, y, _ = stored
    assert isinstance(as_design(str(path)), Streamed)
    result = best_subset(str(path), y, K)
    assert Certificate.verify(result.certificate, str(path), y) and result.certificate.verify(X, y)
    np.testing.assert_allclose(result.predict(str(path)), best_subset(X, y, K).predict(X), rtol=1e-9)
    checked_in_python(path, X, y)


def test_mapped_compressed_columns(tmp_path):
    X = copies()
    y, parts = response(X), []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(sp.csc_array(X), name))
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = sp.csc_array(tuple(parts), shape=X.shape)
    assert isinstance(as_design(mapped), Streamed) and not isinstance(as_design(mapped), Sparse)
    result = best_subset(mapped, y, K)
    assert result.certificate.verify(mapped, y) and result.certificate.verify(X, y)
    np.testing.assert_allclose(result.predict(mapped), best_subset(X, y, K).predict(X), rtol=1e-9)
    checked_in_python(mapped, X, y)


def checked_in_python(given, X, y):
    """Paths, cross-validation, predictions and advice."""
    given = str(given) if hasattr(given, "suffix") else given
    found, known = (penalty_path(x, y, alphas=5, tol=1e-10) for x in (given, X))
    np.testing.assert_allclose(found.coefs.toarray(), known.coefs.toarray(), atol=1e-6)
    np.testing.assert_allclose(
        found.predict(given, alpha=found.alphas[3]), known.predict(X, alpha=known.alphas[3]), atol=1e-5
    )
    for model in (BestSubsetRegressorCV(ks=[1, 2], cv=2), PenalizedRegressorCV(cv=2, tol=1e-10)):
        np.testing.assert_allclose(model.fit(given, y).predict(given), model.fit(X, y).predict(X), atol=1e-4)
    assert advise(given, y).method == advise(X, y).method


def test_commands_tell_how_much_they_have_read(tmp_path):
    """Every block from the first pass on, also of a path and of a check, whose data have one pass."""
    X = copies()
    path, target = write_npy(tmp_path, X), ("--target", tmp_path / "y.npy")
    np.save(tmp_path / "y.npy", response(X))

    def told(*arguments):
        events = []
        with injected("event", events.append):
            succeeds(*arguments)
        passes = [event.passes for event in events if isinstance(event, Pass)]
        assert passes and passes == sorted(passes)
        return events, passes

    fit = "fit", path, *target, "--k", K, "--method", "relaxation", "--out", tmp_path / "model.json"
    assert told(*fit)[1][0] <= 1.0
    assert told("fit", path, *target, "--k", "bic")[1][0] <= 1.0
    events, passes = told("path", path, *target, "--alphas", 7, "--out", tmp_path / "path.json")
    n_solved = int(PathResult.load(tmp_path / "path.json").solved.sum())
    assert passes[0] <= 1.0
    assert [event.n_done for event in events if isinstance(event, Alpha)] == list(range(1, n_solved + 1))
    assert told("verify", tmp_path / "model.json", path, *target)[1][-1] <= 2.0
