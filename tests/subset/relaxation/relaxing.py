"""Helpers for the tests of the relaxation."""

from checks import solve


def relax(X, y, method="relaxation", **settings):
    """Solve, and return the result and the summary of its relaxation."""
    options = {name: settings.pop(name) for name in ("fixing", "polish", "relaxation_tol") if name in settings}
    result = solve(X, y, method=method, options=options, **settings)
    return result, result.trace["relaxation"]
