"""Compiled loops of the branch-and-bound tree."""
