"""Models for a grid of numbers of features and ridges on the same data, without certificates."""
