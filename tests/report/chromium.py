"""A page in headless Chromium: what it shows, what it complains about, and which requests it makes."""

import json
import shutil
import subprocess
from typing import NamedTuple

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--enable-logging=stderr", "--v=0", "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=2000",
    "--dump-dom",
)  # fmt: skip


class Seen(NamedTuple):
    """The document after its scripts, messages of the console, and addresses that were asked for."""

    dom: str
    console: list[str]
    requests: list[str]


def visit(page, tmp_path, *flags):
    """Open a file in a new browser."""
    log = tmp_path / "net.json"
    own = (f"--user-data-dir={tmp_path / 'profile'}", f"--log-net-log={log}", *flags)
    shown = subprocess.run(
        [PROGRAM, *FLAGS, *own, page.as_uri()], capture_output=True, text=True, timeout=90, check=True
    )
    console = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    events = json.loads(log.read_text(encoding="utf-8"))["events"]
    asked = [event["params"] for event in events if "url" in event.get("params", {})]
    # What the browser asks for by itself has no page as its origin.
    urls = {one["url"] for one in asked if one.get("initiator", "not an origin") != "not an origin"}
    return Seen(shown.stdout, console, sorted(url for url in urls if url.startswith(("http:", "https:", "ws"))))
