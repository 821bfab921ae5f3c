"""Design matrices: all work on X, over dense, sparse and lazily standardised data.

===============  ===================================================================
``base``         the interface of every design
``dense``        an array in its own type and order
``sparse``       compressed sparse columns
``packs``        working sets of columns
``summed_packs`` working sets whose Gram matrix is summed over blocks of rows
``standardized`` the view with means 0 and mean squares 1, and conversions back
``sources``      matrices that are read on demand, such as from disk
``streamed``     the design of such a matrix, read in blocks
``recent``       copies of columns that were read lately
``row_sums``     sums over the rows of a matrix that is read in blocks of rows
``combining``    results of a matrix from those of blocks of its rows
``blocked``      a matrix in blocks, which may be on the workers of a cluster
``block_work``   the functions that it computes for each block
``passes``       the blocks that a pass reads, and counts of passes
``counted_grid`` grids of blocks that count what is read
``distributed``  arrays of Dask
``row_chunks``   lists of row chunks
``mapped``       arrays that are mapped from files
``files``        files as designs, by their names
``hdf5``         HDF5 datasets and AnnData
``chunked``      arrays of zarr
``arrow``        tables of Arrow, Parquet and Feather files
``genotypes``    genotypes of PLINK
``packed``       blocks of genotypes, packed at two bits
``interactions`` products of pairs of columns, computed on demand
``reading``      conversion of X to a design
===============  ===================================================================
"""

from sparsest.core.designs.base import Design, Moments, PassStopped, Survey, stopping
from sparsest.core.designs.dense import Dense, compile_kernels
from sparsest.core.designs.packs import Pack
from sparsest.core.designs.reading import as_design, feature_names, on_demand, reporting
from sparsest.core.designs.sparse import Sparse
from sparsest.core.designs.standardized import (
    Standardized,
    in_units_of_data,
    products_with_view,
    shift_and_scale,
    stored_matrix,
    stores_matrix,
    take_apart,
    unstandardized,
    view_with,
)
from sparsest.core.designs.streamed import Streamed

__all__ = [
    "Dense",
    "Design",
    "Moments",
    "Pack",
    "PassStopped",
    "Sparse",
    "Standardized",
    "Streamed",
    "Survey",
    "as_design",
    "compile_kernels",
    "feature_names",
    "in_units_of_data",
    "on_demand",
    "products_with_view",
    "reporting",
    "shift_and_scale",
    "stopping",
    "stored_matrix",
    "stores_matrix",
    "take_apart",
    "unstandardized",
    "view_with",
]
