"""Compiled loops of the Boolean relaxation."""
