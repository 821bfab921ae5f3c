"""Fuzz of ``best_subset`` with at most ten features against an oracle that tries every support.

    python tests/fuzz.py --minutes 5 --seed 1
    python tests/fuzz.py --instance 1000042

Every instance has its own seed, by which a failure can be reproduced.  A worker process solves them, so that a hang
in compiled code is found and ended.  Only what a user calls is used of the library.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fuzz_box import BoxOracle, outside
from fuzz_instances import make_instance
from fuzz_oracle import Oracle, objective_of

# Seconds after which an instance with a limit of five is a failure, and after which its process is ended.
SLOW, HUNG = 20.0, 60.0
# What a bound may be above the oracle's value, as a part of it: that value is right to 1e-15, and a bound is rounded
# down.  Nothing is allowed for where the optimum is zero.
BOUND_TOLERANCE = 1e-13
# What two objectives may differ by, as a part of them; what rounding explains is added.
OBJECTIVE_TOLERANCE = 1e-8
SEEDS_APART = 1_000_000


class Outcome(NamedTuple):
    """How one instance ended; ``failures`` are pairs of a kind and what was seen."""

    seed: int
    status: str
    seconds: float
    groups: dict[str, str]
    failures: list[tuple[str, str]]
    settings: str


def judge(seed):
    """Solve the instance of a seed and judge all that the library says about it."""
    from sparsest import best_subset

    instance = make_instance(seed)
    result, failures = None, []
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = best_subset(instance.X, instance.y, sample_weight=instance.sample_weight, **instance.settings)
        except Exception as error:
            if not (instance.impossible and isinstance(error, ValueError)):
                failures.append(("exception", f"{type(error).__name__}: {error}"))
        seconds = time.perf_counter() - began
        if result is not None:
            failures += _judged(instance, result)
    failures += _warned(caught, instance, result)
    if seconds > SLOW:
        failures.append(("slow", f"{seconds:.1f} s"))
    status = "refused" if result is None else result.status.name
    return Outcome(seed, status, seconds, _groups(instance), failures, _describe(instance))


def _warned(caught, instance, result):
    """Unnecessary warnings, and a missing one if a search for a proof ended without it."""
    short = instance.settings["method"] in ("tree", "cuts") and result is not None and result.status.name != "OPTIMAL"
    told = [f"{type(one.message).__name__}: {one.message}" for one in caught]
    due = [text for text, one in zip(told, caught, strict=True) if issubclass(one.category, ConvergenceWarning)]
    if len(due) != short:
        yield "warning", f"{len(due)} warnings of a search that {'did' if short else 'did not'} stop short"
    yield from (("warning", text) for text in told if text not in due)


def _judged(instance, result):
    """All that is wrong with a result."""
    if not (np.isfinite(result.objective) and np.isfinite(result.coef).all() and np.isfinite(result.intercept)):
        return [("not finite", f"objective {result.objective}, intercept {result.intercept}, {result.status.name}")]
    return [*_sound(instance, result), *_true(instance, result), *_verified(instance, result)]


def _groups(instance):
    form = "k" if "k" in instance.settings else "price"
    return {
        "loss": instance.settings["loss"],
        "ridge": instance.gamma_class,
        "form": form,
        "method": instance.settings["method"],
        "gap_tol": f"{instance.settings['gap_tol']:g}",
        "data": "ordinary" if "ordinary" in instance.traits else "hazards",
        "structure": "yes" if instance.question.rules is not None else "no",
        "limits": "yes" if {"box", "limits"} & set(instance.traits) else "no",
    }


def _describe(instance):
    n, p = instance.question.X.shape
    settings = ", ".join(f"{name}={value!r}" for name, value in instance.settings.items() if value != ())
    return f"n={n}, p={p}, {settings}; {', '.join(instance.traits)}"


def _sound(instance, result):
    """Properties that every result must have, independent of the optimum."""
    settings, support = instance.settings, set(result.support.tolist())
    if not result.lower_bound <= result.objective:
        yield "bound above objective", f"{result.lower_bound!r} > {result.objective!r}"
    if not set(settings["include"]) <= support or set(settings["exclude"]) & support:
        yield "forced features", f"support {sorted(support)}"
    rules = instance.question.rules
    if rules is not None and tuple(sorted(support)) not in instance.question.supports():
        yield "structure", f"support {sorted(support)}"
    most = settings.get("k", len(result.coef)) if rules is None else len(result.coef)
    if len(support) > most or not set(np.flatnonzero(result.coef)) <= support:
        yield "support", f"support {sorted(support)}, coefficients at {np.flatnonzero(result.coef).tolist()}"
    if instance.question.limited and outside(instance.question, result.coef):
        yield "limits", f"coefficients {outside(instance.question, result.coef)} leave them"
    if (result.status.name == "OPTIMAL") != (result.gap <= settings["gap_tol"]):
        yield "status", f"{result.status.name} with a gap of {result.gap!r}"


def _true(instance, result):
    """Whether bound and objective are what they are said to be."""
    question = instance.question
    oracle = BoxOracle(question) if question.limited else Oracle(question)
    support = tuple(sorted(result.support.tolist()))
    below, above = oracle.bracket(support)
    if not below <= above * (1.0 + BOUND_TOLERANCE):
        yield "oracle", f"the support {support} is said to reach {above!r} and no less than {below!r}"
    own, rounding = objective_of(question, support, result.coef, result.intercept)
    # Losses are not negative; that of the oracle may be a rounding error below.
    best = max(min(oracle.best, above, own + rounding), 0.0)
    if not result.lower_bound <= best * (1.0 + BOUND_TOLERANCE):
        yield "bound above optimum", f"bound {result.lower_bound!r}, optimum {best!r}"
    if not result.objective >= below * (1.0 - OBJECTIVE_TOLERANCE) - rounding:
        yield "objective too low", f"objective {result.objective!r}, its support reaches {below!r}"
    if result.status.name == "OPTIMAL":
        allowed = best * (1.0 + BOUND_TOLERANCE) / (1.0 - instance.settings["gap_tol"])
        if not result.objective <= allowed:
            yield "falsely optimal", f"objective {result.objective!r}, optimum {best!r}"
    if not abs(own - result.objective) <= OBJECTIVE_TOLERANCE * abs(own) + rounding:
        yield "objective", f"objective {result.objective!r}, that of its coefficients {own!r}"


def _verified(instance, result):
    """Whether the certificate holds for the data as given and in every other layout."""
    if result.certificate is None:
        if np.isfinite(result.lower_bound):
            yield "no certificate", f"bound {result.lower_bound!r}"
        return
    for name, X in [("given", instance.X), *instance.storages()]:
        try:
            verdict = result.certificate.verify(X, instance.y, instance.sample_weight)
        except Exception as error:
            yield "certificate refused", f"{name}: {type(error).__name__}: {error}"
            return
        if not verdict.valid:
            yield "certificate refused", f"{name}: {'; '.join(verdict.reasons)}"
            return


def lost(seed, failure):
    """The outcome of an instance whose process hung or died."""
    instance = make_instance(seed)
    return Outcome(seed, failure[0], HUNG, _groups(instance), [failure], _describe(instance))


class Worker:
    """A process that judges instances, and is replaced by a new one when it hangs or dies."""

    def __init__(self, judging=judge, losing=lost, slow=SLOW, hung=HUNG):
        self._judging, self._losing = judging, losing
        self._slow, self._hung = slow, hung
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self):
        self._here, there = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(there, self._judging), daemon=True)
        self._process.start()
        there.close()
        # The time for its imports counts for nothing.
        self._here.recv()

    def judge(self, seed):
        """Judge an instance; one that takes too long gets a second chance, as kernels may have been compiled."""
        outcome = self._attempt(seed)
        return self._attempt(seed) if outcome.seconds > self._slow else outcome

    def _attempt(self, seed):
        self._here.send(seed)
        try:
            if self._here.poll(self._hung):
                return self._here.recv()
            failure = ("hang", f"no answer within {self._hung:.0f} s")
        except EOFError:
            failure = ("crash", "the process died")
        self.stop()
        self._start()
        return self._losing(seed, failure)

    def stop(self):
        """End the process."""
        self._process.kill()
        self._process.join()
        self._here.close()


def _serve(connection, judging):
    connection.send("ready")
    while True:
        try:
            connection.send(judging(connection.recv()))
        except EOFError:
            return


def run(seeds, minutes=np.inf, judging=judge, losing=lost, slow=SLOW, hung=HUNG):
    """Yield the outcomes of seeds until the time is over.

    An instance is repeated after ``slow`` seconds, and its process is replaced after ``hung`` seconds.
    """
    end = time.monotonic() + 60.0 * minutes
    worker = Worker(judging, losing, slow, hung)
    try:
        for seed in seeds:
            if time.monotonic() >= end:
                return
            yield worker.judge(seed)
    finally:
        worker.stop()


def line(outcome):
    """One line that says what failed and how to repeat it."""
    seen = "; ".join(f"{kind}: {text}" for kind, text in dict(outcome.failures).items()) or outcome.status
    return f"--instance {outcome.seed}  {seen}  [{outcome.settings}]"


def summary(outcomes):
    """A table of how often each group was proved optimal and how often it failed, and the kinds of failures."""
    rows = [f"{'':48}{'instances':>10}{'OPTIMAL':>10}{'failed':>8}"]
    groups, tree = [("all", "", outcomes)], {}
    for name in outcomes[0].groups:
        for value in sorted({outcome.groups[name] for outcome in outcomes}):
            groups.append((name, value, [outcome for outcome in outcomes if outcome.groups[name] == value]))
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.groups["loss"], outcome.groups["ridge"])):
        # With a tolerance of zero rounding errors alone can keep a problem open.
        if outcome.groups["method"] == "tree" and outcome.groups["gap_tol"] != "0":
            tree.setdefault((f"tree {outcome.groups['loss']}", outcome.groups["ridge"]), []).append(outcome)
    groups += [(loss, ridge, group) for (loss, ridge), group in tree.items()]
    for name, value, group in groups:
        proved = sum(outcome.status == "OPTIMAL" for outcome in group)
        failed = sum(bool(outcome.failures) for outcome in group)
        rows.append(f"{name + ' ' + value:48}{len(group):10}{proved / len(group):10.1%}{failed:8}")
    kinds = Counter(kind for outcome in outcomes for kind in dict(outcome.failures))
    rows += [f"{kind}: {count}" for kind, count in kinds.most_common()] or ["no failures"]
    longest = max(outcomes, key=lambda outcome: outcome.seconds)
    rows.append(f"longest: {longest.seconds:.1f} s, --instance {longest.seed}")
    return "\n".join(rows)


def main(arguments=None):
    """Fuzz for some time, or repeat one instance; the exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1, help="where to begin: other seeds, other instances")
    parser.add_argument("--count", type=int, default=SEEDS_APART, help="the largest number of instances")
    parser.add_argument("--instance", type=int, help="repeat this one instance only")
    parser.add_argument(
        "--unproved", action="store_true", help="also list what the tree does not prove to a tolerance > 0"
    )
    asked = parser.parse_args(arguments)
    first = asked.seed * SEEDS_APART
    seeds = range(first, first + asked.count) if asked.instance is None else [asked.instance]
    outcomes = []
    for outcome in run(seeds, asked.minutes):
        outcomes.append(outcome)
        tree = outcome.groups["method"] == "tree" and outcome.groups["gap_tol"] != "0"
        unproved = asked.unproved and tree and outcome.status != "OPTIMAL"
        if outcome.failures or unproved:
            print(line(outcome), flush=True)
    if outcomes:
        print(summary(outcomes))
    return int(any(outcome.failures for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
