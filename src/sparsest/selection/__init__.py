"""Choosing the number of features, the ridge and the method; with a proof where there can be one."""
