"""Synthetic data sets that are too large for memory: written to files in blocks, mapped, deleted after their tasks."""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.datasets.synthetic import Blockwise, draw_hard, draw_toeplitz
from sparsest.studies.samples import Rows, Sample, Source, scale_of
from sparsest.studies.store import is_running


class Scratch(NamedTuple):
    """Where large data sets are written to.

    A data set is a folder with the training rows as ``train.npy``, in column order, and all else as ``rest.npz``.  It
    is written under a temporary name that contains the owner's process number, and renamed when it is complete.

    Attributes
    ----------
    folder : the folder; that of the system for temporary files by default
    in_memory : larger data sets than this, in bytes, are written
    owner : process that deletes what it has not finished
    keep : whether data sets stay for other tasks until the owner removes them
    """

    folder: str = tempfile.gettempdir()
    in_memory: float = 2e9
    owner: int = os.getpid()
    keep: bool = False

    def wanted(self, source: Source, n: int) -> bool:
        """Whether data are to be written."""
        return not source.real and source.nbytes(n) > self.in_memory

    def draw(self, source: Source, n: int, rng: np.random.Generator, name: str) -> Sample:
        """The data set of this name, which is written first unless it is there; its training rows are mapped."""
        path = Path(self.folder) / f"sparsest-{name}"
        if not path.is_dir():
            free = shutil.disk_usage(self.folder).free
            if free < source.nbytes(n):
                raise ValueError(
                    f"a data set of {source.nbytes(n) / 1e9:.1f} GB does not fit into {self.folder}, which has "
                    f"{free / 1e9:.1f} GB left: name another folder with --scratch"
                )
            part = Path(tempfile.mkdtemp(prefix=f"{path.name}.{self.owner}.", dir=self.folder))
            try:
                _write(source, n, rng, part)
                part.rename(path)
            except BaseException:
                shutil.rmtree(part, ignore_errors=True)
                # Another worker may have been faster.
                if not path.is_dir():
                    raise
        return _read(path, source.task)

    def remove(self, name: str) -> None:
        """Delete a data set, and incomplete copies of it by this process or by processes that have ended."""
        begun = Path(self.folder).glob(f"sparsest-{name}.*")
        ours = [
            path for path in begun if (owner := int(path.name.split(".")[1])) == self.owner or not is_running(owner)
        ]
        for path in (Path(self.folder) / f"sparsest-{name}", *ours):
            shutil.rmtree(path, ignore_errors=True)


def _write(source: Source, n: int, rng: np.random.Generator, folder: Path) -> None:
    """Draw a data set and write it block by block: the same numbers as :func:`samples.draw` returns."""
    ends = (0, n, n + source.n_validation, n + source.n_validation + source.n_test)
    rows = [slice(start, end) for start, end in pairwise(ends)]
    dtype = np.dtype(source.dtype)
    held_out = [np.empty((part.stop - part.start, source.p), dtype, order="F") for part in rows[1:]]
    with (folder / "train.npy").open("wb") as file:
        shape = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": True, "shape": (n, source.p)}
        np.lib.format.write_array_header_1_0(file, shape)

        def keep(start: int, block: Array) -> None:
            train, *others = (np.array(block[:, part], dtype).T for part in rows)
            scale = scale_of(train)
            train /= scale
            file.write(train.T.data)
            for whole, other in zip(held_out, others, strict=True):
                whole[:, start : start + len(block)] = other / scale

        data = _blockwise(source, ends[-1], rng)
        y = data.response(source.snr, source.task, keep).astype(dtype)
    support = np.flatnonzero(data.w)
    np.savez(folder / "rest.npz", validation=held_out[0], test=held_out[1], y=y, support=support)


def _blockwise(source: Source, n: int, rng: np.random.Generator) -> Blockwise:
    if source.design == "hard":
        return draw_hard(n, source.p, source.k, rng=rng)
    return draw_toeplitz(n, source.p, source.k, rho=source.rho, rng=rng)


def _read(folder: Path, task: str) -> Sample:
    """The sample in a folder."""
    X = np.load(folder / "train.npy", mmap_mode="r")
    with np.load(folder / "rest.npz") as rest:
        matrices = (X, rest["validation"], rest["test"])
        ends = np.cumsum([matrix.shape[0] for matrix in matrices])[:-1]
        responses = np.split(rest["y"].astype(np.float64), ends)
        parts = [Rows(matrix, y) for matrix, y in zip(matrices, responses, strict=True)]
        return Sample(parts[0], parts[1], parts[2], rest["support"], task, False)
