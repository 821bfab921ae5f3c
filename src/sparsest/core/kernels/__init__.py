"""Compiled loops over the columns of a design."""
