"""Data files as tables: a matrix with names, target and weights, and the encoding of its columns.

=================== ===========================================================================
``source``          what a reader returns: named columns, or a matrix with columns beside it
``opening``         detection of the format from the first bytes of a file; compressed files
``dialect``         separator, decimal sign, encoding and header of a text file
``arrow``           CSV, Parquet and Feather by pyarrow
``plain``           CSV without pyarrow
``matrices``        NPY, NPZ, folders of them, Matrix Market and svmlight
``annotated``       AnnData files (.h5ad)
``genotypes``       PLINK files (.bed, .bim, .fam)
``on_demand``       files whose matrix is read in blocks and not loaded
``converting``      conversion of a matrix to the layout that is fastest to read
``readers``         the reader of every format
``encoding``        how columns become features, as plain data that is stored with a model
``features``        the matrix of the features
``products``        terms that are chosen as a unit, and products of features
``plan``            which features the columns become
``roles``           columns that are not features: target, weights, offsets and names of rows
``remarks``         constant, nearly constant and duplicated columns
``suspects``        identifiers, repeated rows, features that determine the target
``reading_options`` what a user specifies about the columns
``table``           from a file to a table for a fit
``with_encoding``   from a file to a table for an existing model
=================== ===========================================================================
"""

from sparsest.tables.encoding import IMPUTATIONS, Encoding
from sparsest.tables.products import terms, with_products
from sparsest.tables.reading_options import ReadingOptions
from sparsest.tables.table import Table, read_table
from sparsest.tables.with_encoding import read_with_encoding

__all__ = [
    "IMPUTATIONS",
    "Encoding",
    "ReadingOptions",
    "Table",
    "read_table",
    "read_with_encoding",
    "terms",
    "with_products",
]
