"""Python in a new process, as tests of what is compiled, cached and loaded need it."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def run(*arguments, **environment):
    """Run Python in a new process, warnings as errors, and return what it prints."""
    return run_process(*arguments, **environment).stdout


def run_process(*arguments, **environment):
    """The same with what it writes to the stream of errors."""
    command = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    return done
