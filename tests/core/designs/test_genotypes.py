"""Packed genotypes: the numbers of copies that PLINK means, missing ones replaced by the mean, products of blocks."""

import bed_reader
import numpy as np
import pgenlib
import pytest

from checks import best_subset
from design_contract import DesignContract
from sparsest.core.designs import Dense, Streamed, as_design


def genotypes(n=13, p=9, share=0.2, seed=0):
    """Numbers of copies, NaN where they are missing, and the matrix they stand for."""
    rng = np.random.default_rng(seed)
    copies = rng.integers(0, 3, (n, p)).astype(np.float32)
    copies[rng.random((n, p)) < share] = np.nan
    copies[:, 1] = 1.0
    if share:
        copies[:, 3] = np.nan
    known = np.isfinite(copies)
    mean = np.where(known, copies, 0.0).astype(float).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return copies, np.where(known, copies, mean.astype(np.float32)).astype(float)


def write_bed(path, copies):
    bed_reader.to_bed(path, copies, count_A1=True)
    return path


def write_pgen(path, copies):
    calls = np.where(np.isnan(copies), -9, copies).astype(np.int8)
    with pgenlib.PgenWriter(str(path).encode(), calls.shape[0], variant_ct=calls.shape[1], nonref_flags=False) as file:
        for variant in np.ascontiguousarray(calls.T):
            file.append_biallelic(variant)
    path.with_suffix(".psam").write_text("#IID\n" + "".join(f"s{i}\n" for i in range(calls.shape[0])))
    lines = (f"1\t{j + 1}\trs{j}\tA\tG\n" for j in range(calls.shape[1]))
    path.with_suffix(".pvar").write_text("##source\n#CHROM\tPOS\tID\tREF\tALT\n" + "".join(lines))
    return path


WRITERS = {".bed": write_bed, ".pgen": write_pgen}
endings = pytest.mark.parametrize("ending", WRITERS)


class TestGenotypes(DesignContract):
    @pytest.fixture(params=[(ending, share, n) for ending in WRITERS for share in (0.0, 0.2) for n in (12, 13, 15)])
    def pair(self, request, tmp_path):
        ending, share, n = request.param
        copies, X = genotypes(n, share=share)
        design = as_design(str(WRITERS[ending](tmp_path / f"g{ending}", copies)))
        assert isinstance(design, Streamed)
        design.source.block_bytes = 3 * n
        return design, X


class TestNothingIsCopied(DesignContract):
    @pytest.fixture
    def pair(self, tmp_path):
        copies, X = genotypes()
        source = as_design(write_bed(tmp_path / "g.bed", copies)).source
        return Streamed(source, block_bytes=30, copy_bytes=0), X


def test_no_gaps_no_floats(tmp_path):
    """Blocks without missing genotypes are bytes, and chosen columns stay packed."""
    copies, X = genotypes(n=21, share=0.0)
    design = as_design(write_bed(tmp_path / "g.bed", copies))
    block = design.source.read(2, 6).unpacked.array
    assert block.dtype == np.int8 and np.array_equal(block, X[:, 2:6])
    assert design.source.pick(np.array([1, 4, 5])).unpacked.array.dtype == np.int8
    part = design.take(np.array([4, 1]))
    assert part.source.packed.shape == (2, 6) and part.nbytes_of([0, 1]) == 12
    assert np.array_equal(part.columns([0, 1]), X[:, [4, 1]])


@endings
def test_names(tmp_path, ending):
    copies, _ = genotypes()
    design = as_design(WRITERS[ending](tmp_path / f"g{ending}", copies))
    expected = [f"sid{j + 1}" if ending == ".bed" else f"rs{j}" for j in range(9)]
    assert list(design.names) == expected and list(design.take([3, 1]).names) == [expected[3], expected[1]]


@endings
def test_the_answer_is_that_of_the_dense_matrix(tmp_path, ending):
    copies, X = genotypes(60, 30, 0.05)
    y = X[:, 5] - X[:, 12] + 0.1 * np.random.default_rng(1).standard_normal(60)
    path = WRITERS[ending](tmp_path / f"g{ending}", copies)
    for method in ("tree", "relaxation"):
        result = best_subset(str(path), y, k=2, method=method)
        known = best_subset(X, y, k=2, method=method)
        assert result.support.tolist() == known.support.tolist() == [5, 12]
        assert result.objective == pytest.approx(known.objective, rel=1e-12)
        assert result.statement.fingerprint == known.statement.fingerprint
        for same in (X, as_design(path), path, str(path)):
            assert result.certificate.verify(same, y)
        WRITERS[ending](tmp_path / f"other{ending}", np.where(np.arange(30) == 7, np.nan, copies))
        assert not result.certificate.verify(tmp_path / f"other{ending}", y)
        assert result.names == ["sid6", "sid13"] if ending == ".bed" else ["rs5", "rs12"]


def test_passes_count_packed_bytes(tmp_path):
    copies, _ = genotypes(40, 30, 0.05)
    design = as_design(write_bed(tmp_path / "g.bed", copies))
    design.tdot(np.ones(40))
    assert design.reading.bytes == 30 * 10 and design.reading.passes == pytest.approx(1.0)
    design.tdot(np.ones(40), [3, 8])
    assert design.reading.bytes == 32 * 10


def test_bad_files(tmp_path):
    path = write_bed(tmp_path / "g.bed", genotypes()[0])
    content = path.read_bytes()
    for changed, message in (
        (content[:-1], "has the wrong size for 13 samples and 9 variants"),
        (content[:2] + b"\0" + content[3:], "stored by sample"),
        (b"xx" + content[2:], r"not a \.bed file"),
        (b"", r"not a \.bed file"),
    ):
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=message):
            as_design(path)
    path.write_bytes(content)
    path.with_suffix(".bim").write_text("one\n")
    with pytest.raises(ValueError, match=r"g\.bim has a line with fewer than 2 entries"):
        as_design(path)
    path.with_suffix(".fam").unlink()
    with pytest.raises(ValueError, match=r"there is no file .*g\.fam"):
        as_design(path)


def test_pgenlib_is_an_extra(tmp_path, monkeypatch):
    path = write_pgen(tmp_path / "g.pgen", genotypes()[0])
    monkeypatch.setitem(__import__("sys").modules, "pgenlib", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsest\[genotypes\]'"):
        as_design(path)


def test_sums_that_are_exact_are_those_of_bytes(tmp_path):
    """Whole numbers are added without rounding, in any order."""
    copies, X = genotypes(101, 64, 0.0)
    design, stored = as_design(write_bed(tmp_path / "g.bed", copies)), Dense(np.asfortranarray(X, dtype=np.int8))
    r = np.random.default_rng(0).integers(-1000, 1000, (101, 3)).astype(float)
    assert np.array_equal(design.tdot(r), stored.tdot(r))
    assert np.array_equal(design.tdot(r[:, 0], [5, 60, 5]), stored.tdot(r[:, 0], [5, 60, 5]))
