"""Many models of the same data, by number of features and ridge, without certificates."""
