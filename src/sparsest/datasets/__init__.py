"""Synthetic designs of the studies, and loaders of real data.

===============  =====================================================
``dataset``      a design with its response, and the true coefficients if known
``synthetic``    Gaussian designs of the studies
``shipped``      tables that come with scikit-learn
``folders``      data of one folder
===============  =====================================================
"""

from sparsest.datasets.dataset import Dataset
from sparsest.datasets.folders import load_folder
from sparsest.datasets.shipped import load_breast_cancer, load_diabetes_quadratic
from sparsest.datasets.synthetic import make_hard, make_toeplitz

__all__ = [
    "Dataset",
    "load_breast_cancer",
    "load_diabetes_quadratic",
    "load_folder",
    "make_hard",
    "make_toeplitz",
]
