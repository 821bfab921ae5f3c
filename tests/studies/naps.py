"""A runner of tasks that only sleep, for tests that kill it: python naps.py FILE LOG COUNT.

It prints "done" after each task, so that a test can wait for this event instead of a fixed time.
"""

import signal
import sys
import time

from sparsest.studies.procedures import PROCEDURES, Plan, Procedure
from sparsest.studies.runner import run
from sparsest.studies.samples import Source
from sparsest.studies.store import Store
from sparsest.studies.tasks import Task

SOURCE = Source("toeplitz", p=3, k=1, snr=1.0, n_validation=2, n_test=2)


def tasks(count):
    return [Task(SOURCE, 4, number, "nap", Plan()) for number in range(count)]


def main(file, log, count):
    def nap(sample, plan):
        with open(log, "a") as lines:
            lines.write(f"{sample.train.y[0]!r}\n")
        time.sleep(0.01)
        yield {"method": "nap", "y": float(sample.train.y[0])}

    # A process started in the background ignores Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    PROCEDURES["nap"] = Procedure(nap, lambda n, p, plan: 0.02)
    ended = run(tasks(count), Store(file), n_jobs=1, listener=lambda progress: print("done", flush=True))
    print(ended.done, ended.interrupted, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
