"""Compiled kernels: the only package that imports numba."""
