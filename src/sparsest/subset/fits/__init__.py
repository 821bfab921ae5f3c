"""Fits of the model on a given support, for every loss, ridge and box."""
