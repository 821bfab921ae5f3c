"""Many models of the same data, by number of features and ridge: squared loss, in Gram space, without certificates."""
