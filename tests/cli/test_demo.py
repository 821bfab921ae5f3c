"""The demo, and the process that compiles kernels beside the first one."""

import subprocess

from sparsest.cli import demo
from sparsest.runtime import jit


def test_a_process_beside_the_first_demo_is_ended_with_it(monkeypatch, tmp_path):
    started = []

    class Helper(subprocess.Popen):
        def __init__(self, command, **settings):
            started.append(self)
            super().__init__([*command[:2], "import time; time.sleep(60)"], **settings)

    monkeypatch.setattr(demo.subprocess, "Popen", Helper)
    monkeypatch.setattr(jit, "cache_directory", lambda: tmp_path)
    with demo._compiling_beside():
        assert started[0].poll() is None
    assert started[0].returncode != 0
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "leap.nbi").touch()
    with demo._compiling_beside():
        pass
    assert len(started) == 1
