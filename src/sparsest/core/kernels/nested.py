"""The best choice of units under limits on sets that are disjoint or nested, and the costs of forcing a unit.

``state[g]`` is 1 for a unit forced in, -1 for a unit forced out, and 0 for a free unit.  At most ``most[c]`` units of
set c may be chosen, forced ones included.  The units of set c are ``members[start[c]:start[c + 1]]``.  A set comes
after all sets that it contains.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.kernels.selection import largest_sum
from sparsest.runtime.jit import kernel


@kernel
def choose_nested(worth, state, start, members, most, chosen):
    """Mark the free units of the best choice in ``chosen``; return the total worth of forced and chosen units.

    Each set keeps its largest positive worths, beginning with the innermost sets.  That is the best choice because the
    sets are disjoint or nested.
    """
    work = np.empty(worth.size)
    for g in range(worth.size):
        chosen[g] = state[g] == 0 and worth[g] > 0.0
    for c in range(most.size):
        room, count = most[c], 0
        for place in range(start[c], start[c + 1]):
            g = members[place]
            if state[g] == 1:
                room -= 1
            elif chosen[g]:
                work[count] = worth[g]
                count += 1
        if count > room:
            level = largest_sum(work[:count], room)[1]
            ties = room
            for place in range(start[c], start[c + 1]):
                g = members[place]
                if chosen[g] and worth[g] > level:
                    ties -= 1
            for place in range(start[c], start[c + 1]):
                g = members[place]
                if chosen[g] and not worth[g] > level:
                    chosen[g] = worth[g] == level and ties > 0
                    ties -= chosen[g]
    total = 0.0
    for g in range(worth.size):
        if state[g] == 1 or chosen[g]:
            total += worth[g]
    return total


@kernel
def nested_costs(worth, state, start, members, most, chosen, inside, outside):
    """Write the decrease of the best worth if each free unit is forced in, and if it is forced out.

    ``chosen`` is the best choice B.  A unit j outside of B displaces the smallest worth of B in the smallest full set
    that contains j.  A unit j in B is replaced by the largest worth outside of B whose smallest full set contains j.
    """
    n_sets = most.size
    smallest_full = np.full(worth.size, -1)
    least, best = np.full(n_sets, np.inf), np.zeros(n_sets)
    for c in range(n_sets):
        room = most[c]
        for place in range(start[c], start[c + 1]):
            g = members[place]
            room -= state[g] == 1 or chosen[g]
        if room <= 0:
            for place in range(start[c], start[c + 1]):
                g = members[place]
                if smallest_full[g] < 0:
                    smallest_full[g] = c
                if chosen[g]:
                    least[c] = min(least[c], worth[g])
                elif state[g] == 0 and smallest_full[g] == c:
                    best[c] = max(best[c], worth[g])
    for g in range(worth.size):
        inside[g], outside[g] = 0.0, 0.0
        if state[g] == 0 and not chosen[g]:
            last = 0.0 if smallest_full[g] < 0 else least[smallest_full[g]]
            inside[g] = max(last - worth[g], 0.0)
        elif state[g] == 0:
            outside[g] = worth[g]
    for c in range(n_sets):
        for place in range(start[c], start[c + 1]):
            g = members[place]
            if chosen[g]:
                outside[g] = max(min(outside[g], worth[g] - best[c]), 0.0)
