"""Design matrices: all work on X, over dense, sparse and lazily standardised data.

===============  ===================================================================
``base``         the interface of every design
``dense``        an array in its own type and order
``sparse``       compressed sparse columns
``packs``        working sets of columns
``standardized`` the view with means 0 and mean squares 1, and conversions back
``reading``      conversion of X to a design
===============  ===================================================================
"""

from sparsest.core.designs.base import Design, Moments, Survey
from sparsest.core.designs.dense import Dense, compile_kernels
from sparsest.core.designs.packs import Pack
from sparsest.core.designs.reading import as_design, feature_names
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

__all__ = [
    "Dense",
    "Design",
    "Moments",
    "Pack",
    "Sparse",
    "Standardized",
    "Survey",
    "as_design",
    "compile_kernels",
    "feature_names",
    "in_units_of_data",
    "products_with_view",
    "shift_and_scale",
    "stored_matrix",
    "stores_matrix",
    "take_apart",
    "unstandardized",
    "view_with",
]
