"""Best subset: the public functions, the fit of one support, moves, certificates, and the methods."""
