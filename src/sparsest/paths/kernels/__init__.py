"""Compiled loops of the penalty paths."""
