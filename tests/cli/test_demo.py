"""The demo, and the process that compiles kernels beside the first one."""

import subprocess

from sparsest.cli import demo


def test_a_process_beside_the_first_demo_is_ended_with_it(monkeypatch, cache):
    started = []

    class Helper(subprocess.Popen):
        def __init__(self, command, **settings):
            started.append(self)
            super().__init__([*command[:2], "import time; time.sleep(60)"], **settings)

    monkeypatch.setattr(demo.subprocess, "Popen", Helper)
    with demo._compiling_beside():
        assert started[0].poll() is None
    assert started[0].returncode != 0
    (cache / "kernels").mkdir()
    (cache / "kernels" / "leap.nbi").touch()
    with demo._compiling_beside():
        pass
    assert len(started) == 1
