"""The incumbent: the best of all offered models; each support is fitted once, and callbacks are notified."""

import numpy as np

from samples import sample
from sparsest.core.problem import make_problem
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Incumbent as Found
from sparsest.subset.fits.support import fit_support
from sparsest.subset.incumbent import Incumbent


def test_the_best_of_what_is_tried():
    events = []
    problem = make_problem(*sample("squared", 20, 6), 3, gamma=0.5, include=[4])
    incumbent = Incumbent(problem, Clock(np.inf, events.append))
    assert incumbent.fit.support.tolist() == [4] and not events
    supports = [np.array(support) for support in ([0, 4], [0, 1, 4], [3, 4])]
    fits = [incumbent.try_support(support) for support in supports]
    best = min(fits, key=lambda fit: fit.primal)
    assert incumbent.fit is best and all(incumbent.try_support(support) is None for support in supports)
    assert not incumbent.offer(fit_support(problem, np.array([4])))
    found = [event.objective for event in events if isinstance(event, Found)]
    assert found == sorted(found, reverse=True) and found[-1] == best.primal


def test_a_start_is_tried_at_once():
    problem = make_problem(*sample("logistic", 20, 6), 3, gamma=0.5, loss="logistic")
    assert Incumbent(problem, Clock(np.inf), np.array([0, 1])).fit.support.tolist() == [0, 1]
