"""Fuzz of large problems: every claim of a call must be proved by the certificate from the data alone.

    python -m tests.fuzz_large --calls 1000 --seed 7
    python -m tests.fuzz_large --instance 7000042

No oracle can enumerate the supports here.  Certificates are verified, claims are compared with the verdicts, and models
that are fitted without the library must not cost less than the bounds.  Only what a user calls is used of the library.
"""

from __future__ import annotations

import argparse
import queue
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

if __package__:
    # Run as a module: the other files of this folder are found by their own names, as with pytest.
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import fuzz
from fuzz import SEEDS_APART, Outcome
from fuzz_large_instances import make_large_instance, other_response
from fuzz_large_rival import Measure, rivals

# By how much a call may exceed its time limit: seconds, and seconds per entry of X, which is read several times.  The
# smaller one of elapsed and processor time counts, so that other load of the machine does not matter.
ALLOWANCE, ALLOWANCE_PER_ENTRY = 0.5, 5e-8
# The relative difference that the checker allows between the objective claimed and the one it recomputes.
OBJECTIVE_TOLERANCE = 1e-9
# What the objective of the coefficients, as a user gets them, may differ from the one reported, beyond rounding.
MODEL_TOLERANCE = 1e-8
# Rival objectives are computed in extended precision from float64 data.
RIVAL_TOLERANCE = 1e-12
# One of this many instances is compared with rival models.
RIVALS_EVERY = 2
HUNG = 300.0
CHANCES = 3
WITHOUT_PROOF = ("TIME_LIMIT", "NODE_LIMIT", "HEURISTIC")


class Stopper:
    """A callback that asks the search to stop after some events."""

    def __init__(self, after):
        self.left = after

    def __call__(self, event):
        self.left -= 1
        return self.left <= 0


class Calls:
    """The calls of one instance, timed, with what they returned and everything that is wrong."""

    def __init__(self, instance):
        self.instance = instance
        self.failures: list[tuple[str, str]] = []
        self.statuses: list[str] = []

    def best_subset(self, y, X=None, **extra):
        """Call ``best_subset`` as the instance says."""
        from sparsest import best_subset

        return self._timed(best_subset, X, y, 1, {**self.instance.problem, **self.instance.search, **extra})

    def path(self, y, ks):
        """Call ``best_subset_path``: no price, and k from the list."""
        from sparsest import best_subset_path

        settings = {**_without(self.instance.problem, "k"), **self.instance.search}
        return self._timed(best_subset_path, None, y, len(ks), {**settings, "ks": ks})

    def choice(self, y, **extra):
        """Call ``certified_choice``."""
        from sparsest import certified_choice

        settings = _without(self.instance.problem, "k")
        search = _without(self.instance.search, "method", "engine", "node_limit")
        return self._timed(certified_choice, None, y, 1, {**settings, **search, **extra})

    def near(self, result, y, **extra):
        """Call ``near_optimal``."""
        from sparsest import near_optimal

        limit = {"time_limit": self.instance.search["time_limit"]}
        call = lambda X, y, **settings: near_optimal(result, X, y, **settings)  # noqa: E731
        return self._timed(call, None, y, 1, {**limit, **extra}, callback=False)

    def _timed(self, function, X, y, n_searches, settings, callback=True):
        """Call a function; None where it has refused with a ValueError, as it should for what is impossible."""
        instance = self.instance
        X = instance.X if X is None else X
        if callback and instance.stop_after is not None:
            settings = {**settings, "callback": Stopper(instance.stop_after)}
        began = time.perf_counter(), time.process_time()
        try:
            found = function(X, y, **settings, **instance.rows)
        except Exception as error:
            if not (instance.impossible and isinstance(error, ValueError) and str(error)):
                self.fail("exception", f"{type(error).__name__}: {error}")
            return None
        taken = min(time.perf_counter() - began[0], time.process_time() - began[1])
        allowed = n_searches * settings["time_limit"] + ALLOWANCE + ALLOWANCE_PER_ENTRY * np.prod(instance.X.shape)
        if taken > allowed:
            self.fail("late", f"{taken:.2f} s with a limit of {n_searches} × {settings['time_limit']:.3g} s")
        return found

    def fail(self, kind, text):
        """Note a failure."""
        self.failures.append((kind, text))

    def check(self, result, y, k=None, gap_tol=None):
        """Judge everything that a result claims."""
        self.statuses.append(result.status.name)
        for kind, text in judged(self.instance, result, y, k, gap_tol):
            self.fail(kind, text)


def _without(settings, *names):
    return {name: value for name, value in settings.items() if name not in names}


def use_single(calls, instance):
    result = calls.best_subset(instance.y)
    if result is not None:
        calls.check(result, instance.y)


def use_screen(calls, instance):
    result = calls.best_subset(instance.y, **instance.extra)
    if result is not None:
        calls.check(result, instance.y)


def use_path(calls, instance):
    ks = instance.extra["ks"]
    results = calls.path(instance.y, ks)
    for k, result in zip(ks, results or (), strict=bool(results)):
        calls.check(result, instance.y, k)


def use_choice(calls, instance):
    choice = calls.choice(instance.y, **instance.extra)
    if choice is None:
        return
    for k, result in choice.results.items():
        calls.check(result, instance.y, k)
    calls.check(choice.result, instance.y, choice.result.statement.k)
    verdict = choice.verify(instance.X, instance.y, **instance.rows)
    if not verdict:
        calls.fail("choice refused", "; ".join(verdict.reasons))
    if (choice.status.name == "OPTIMAL") != (
        not choice.not_excluded and choice.result.gap <= instance.search["gap_tol"]
    ):
        calls.fail("status", f"choice {choice.status.name}, {len(choice.not_excluded)} sizes are not excluded")


def use_near(calls, instance):
    result = calls.best_subset(instance.y)
    if result is None:
        return
    calls.check(result, instance.y)
    near = calls.near(result, instance.y, **instance.extra)
    if near is None:
        return
    found = [tuple(support.tolist()) for support in near.supports]
    if near.complete and tuple(result.support.tolist()) not in found:
        calls.fail("near", f"complete without the support of the result, {result.support.tolist()}")
    measure = Measure(instance, instance.y, result.statement.gamma)
    for support in rivals(measure, result.support):
        value = measure.fitted(support)
        if near.complete and value < near.threshold * (1.0 - 1e-9) and support not in found:
            calls.fail("near", f"complete without {support}, whose objective is at most {value!r}")


def use_twice(calls, instance):
    """One design, two responses: what is known of the first must not be used for the second."""
    from sparsest.core.designs import as_design

    design = as_design(instance.X)
    for y in (instance.y, other_response(instance)):
        result = calls.best_subset(y, design)
        if result is not None:
            calls.check(result, y)


RUNNERS = {
    "single": use_single,
    "path": use_path,
    "choice": use_choice,
    "near": use_near,
    "screen": use_screen,
    "twice": use_twice,
}


def judge_instance(instance):
    """Make the calls of an instance and judge all that the library says."""
    calls = Calls(instance)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RUNNERS[instance.use](calls, instance)
    calls.failures += _warned(caught, instance, calls.statuses)
    seconds = time.perf_counter() - began
    status = "refused" if not calls.statuses else calls.statuses[0]
    return Outcome(instance.seed, status, seconds, _groups(instance), calls.failures, _describe(instance))


def judge(seed):
    """Judge the instance of a seed; a late one gets two more chances, as kernels are compiled or cores are in use."""
    instance = make_large_instance(seed)
    for _ in range(CHANCES):
        outcome = judge_instance(instance)
        if "late" not in dict(outcome.failures):
            break
    return outcome


def lost(seed, failure):
    """The outcome of an instance whose process hung or died."""
    instance = make_large_instance(seed)
    return Outcome(seed, failure[0], HUNG, _groups(instance), [failure], _describe(instance))


def _warned(caught, instance, statuses):
    """Unnecessary warnings, and a missing one if a search for a proof ended without it."""
    told = [f"{type(one.message).__name__}: {one.message}" for one in caught]
    due = [text for text in told if text.startswith("ConvergenceWarning")]
    yield from (("warning", text) for text in told if text not in due)
    short = instance.search["method"] in ("tree", "cuts") and bool({*WITHOUT_PROOF} & {*statuses})
    if instance.use in ("single", "screen") and len(due) != short:
        yield "warning", f"{len(due)} warnings of a search that {'did' if short else 'did not'} stop short"


def judged(instance, result, y, k=None, gap_tol=None):
    """All that is wrong with a result, as pairs of a kind and what was seen."""
    numbers = [result.objective, result.intercept, *result.coef[result.support].tolist()]
    if not np.isfinite(numbers).all():
        yield "not finite", f"objective {result.objective}, intercept {result.intercept}"
        return
    yield from _admissible(instance, result, k)
    yield from _proved(instance, result, y, k)
    yield from _consistent(result, instance.search["gap_tol"] if gap_tol is None else gap_tol)
    yield from _measured(instance, result, y)


def _admissible(instance, result, k):
    """Whether the model is one that the problem admits."""
    problem, support = instance.problem, set(result.support.tolist())
    if not set(problem["include"]) <= support or set(problem["exclude"]) & support:
        yield "forced features", f"support {sorted(support)}"
    most = problem.get("k") if k is None else k
    if most is not None and len(support) > most:
        yield "support", f"{len(support)} features, at most {most} are admitted"
    if not set(np.flatnonzero(result.coef).tolist()) <= support:
        yield "support", "there are coefficients beyond the support"


def _proved(instance, result, y, k):
    """Whether the certificate holds, and proves exactly what the result claims."""
    if result.certificate is None:
        yield "no certificate", f"bound {result.lower_bound!r}"
        return
    named = ("loss", "fit_intercept", "standardize", "include", "exclude", "max_coef", "lower", "upper", "k")
    expected = {name: value for name, value in instance.problem.items() if name in named}
    if k is not None:
        expected["k"] = k
    elif result.statement.k is None:
        expected.pop("k", None)
    try:
        verdict = result.certificate.verify(instance.X, y, **instance.rows, **expected)
    except Exception as error:
        yield "certificate refused", f"{type(error).__name__}: {error}"
        return
    if not verdict.valid:
        missing = (result.lower_bound - verdict.lower_bound) / abs(result.objective or 1.0)
        yield "certificate refused", f"{'; '.join(verdict.reasons)} ({missing:.1e} of the objective too much)"
    elif verdict.lower_bound != result.lower_bound:
        yield "lower bound", f"claimed {result.lower_bound!r}, proved {verdict.lower_bound!r}"
    if not abs(verdict.objective - result.objective) <= OBJECTIVE_TOLERANCE * abs(verdict.objective):
        yield "objective", f"claimed {result.objective!r}, recomputed {verdict.objective!r}"


def _consistent(result, gap_tol):
    """Whether gap and status follow from objective and bound."""
    if not result.lower_bound <= result.objective:
        yield "bound above objective", f"{result.lower_bound!r} > {result.objective!r}"
    apart = max(result.objective - result.lower_bound, 0.0) / max(abs(result.objective), np.finfo(float).tiny)
    if result.gap != (apart if np.isfinite(result.lower_bound) else np.inf):
        yield "gap", f"{result.gap!r}, objective {result.objective!r}, bound {result.lower_bound!r}"
    if (result.status.name == "OPTIMAL") != (result.gap <= gap_tol):
        yield "status", f"{result.status.name} with a gap of {result.gap!r}, tolerance {gap_tol:g}"


def _measured(instance, result, y):
    """Whether the objective is that of the coefficients, and no other model is known to cost less than the bound."""
    measure = Measure(instance, y, result.statement.gamma)
    with np.errstate(all="ignore"):
        own, rounding = measure.objective(result.support, result.coef[result.support], result.intercept)
    if not abs(own - result.objective) <= MODEL_TOLERANCE * abs(own) + rounding:
        yield "model", f"objective {result.objective!r}, that of the coefficients {own!r} ± {rounding:.1e}"
    most = instance.problem.get("max_coef")
    if most is not None and result.support.size:
        sizes = measure.sizes(result.support, result.coef[result.support])
        if sizes.max() > most * (1.0 + MODEL_TOLERANCE):
            yield "box", f"a coefficient of size {sizes.max()!r}, at most {most!r} is admitted"
    coef, (low, high) = result.coef[result.support], measure.limits(result.support)
    if ((coef < low) | (coef > high)).any():
        yield "signs", f"the coefficients {coef[(coef < low) | (coef > high)]} do not have the sign that is admitted"
    if instance.seed % RIVALS_EVERY:
        return
    k = result.statement.k
    for support in rivals(measure, result.support):
        if k is not None and len(support) > k:
            continue
        value = measure.fitted(support)
        if result.lower_bound > value * (1.0 + RIVAL_TOLERANCE):
            yield "bound above a model", f"bound {result.lower_bound!r}, {len(support)} features reach {value!r}"


def _groups(instance):
    n, p = instance.X.shape
    return {
        "loss": instance.problem["loss"],
        "ridge": "auto"
        if instance.problem["gamma"] == "auto"
        else "none"
        if np.isinf(instance.problem["gamma"])
        else "given",
        "method": instance.search["method"] if instance.use != "choice" else "choice",
        "use": instance.use,
        "gap_tol": f"{instance.search['gap_tol']:g}",
        "shape": "wide" if p > 3 * n else "tall" if n > 3 * p else "square",
        "limit": "early" if "early limit" in instance.traits else "usual",
    }


def _describe(instance):
    n, p = instance.X.shape
    settings = {**instance.problem, **instance.search, **instance.extra}
    shown = ", ".join(
        f"{name}={value!r}" if name != "exclude" else f"exclude=<{len(value)}>"
        for name, value in settings.items()
        if value != ()
    )
    stop = "" if instance.stop_after is None else f", stops after {instance.stop_after} events"
    return f"{instance.use}, n={n}, p={p}, {shown}{stop}; {', '.join(instance.traits)}"


def spread(seeds, processes):
    """Yield outcomes as they come; every process has its part of the seeds."""
    outcomes, parts = queue.Queue(), [seeds[i::processes] for i in range(processes)]

    def work(part):
        try:
            for outcome in fuzz.run(part, judging=judge, losing=lost, slow=HUNG, hung=HUNG):
                outcomes.put(outcome)
        finally:
            outcomes.put(None)

    for part in parts:
        threading.Thread(target=work, args=(part,), daemon=True).start()
    running = processes
    while running:
        outcome = outcomes.get()
        running -= outcome is None
        if outcome is not None:
            yield outcome


def main(arguments=None):
    """Judge some calls, or repeat one instance; the exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100, help="the number of instances")
    parser.add_argument("--seed", type=int, default=1, help="where to begin: other seeds, other instances")
    parser.add_argument("--processes", type=int, default=1, help="processes that share the work")
    parser.add_argument("--instance", type=int, help="repeat this one instance only")
    asked = parser.parse_args(arguments)
    if asked.instance is not None:
        outcome = judge(asked.instance)
        print(fuzz.line(outcome))
        return int(bool(outcome.failures))
    first, outcomes = asked.seed * SEEDS_APART, []
    for outcome in spread(range(first, first + asked.calls), asked.processes):
        outcomes.append(outcome)
        if outcome.failures:
            print(fuzz.line(outcome), flush=True)
    print(fuzz.summary(outcomes))
    return int(any(outcome.failures for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
