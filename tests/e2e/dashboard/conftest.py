"""A running `up --demo` and a real Chromium that looks at its dashboard.

Playwright's synchronous face keeps an event loop running in the thread it is used in, so no other
test could run a loop of its own in this process. `tests/e2e/test_dashboard.py` therefore runs this
folder in a process apart; by hand: `QUARTERDECK_BROWSER=1 pytest -n 0 tests/e2e/dashboard`.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_PORTS
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from quarterdeck.kit import json, yaml
from quarterdeck.testing import programs

collect_ignore_glob = [] if os.environ.get("QUARTERDECK_BROWSER") else ["test_*.py"]

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "src/quarterdeck/services/hub/web/static"
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
WAIT_MS = 240_000


def require_build() -> None:
    """Build the dashboard if its sources changed; skip where that is not possible."""
    done = subprocess.run(
        ["bash", "tools/web.sh", ".tools", sys.executable], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode == 0 and (STATIC / "index.html").is_file():
        return
    message = f"the dashboard is not built (make web): {(done.stdout + done.stderr)[-500:]}"
    required = os.environ.get("QUARTERDECK_REQUIRE_TOOLS", "").replace(",", " ").split()
    if "dashboard" in required:
        pytest.fail(message)
    pytest.skip(message)


class Demo:
    """A process of `up`, and requests to its API server as its administrator."""

    def __init__(self, folder: Path, link: str) -> None:
        self.link = link
        self.url = link.partition("/login")[0]
        self._kubeconfig = folder / "kubeconfig"
        self._folder = folder

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask the API server with the administrator's certificate."""
        import base64
        import ssl
        import urllib.request

        config = yaml.load(self._kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        tls = ssl.create_default_context(cadata=authority)
        pair = self._folder / "pair.pem"
        names = ("client-certificate-data", "client-key-data")
        pair.write_bytes(b"\n".join(base64.b64decode(user[name]) for name in names))
        tls.load_cert_chain(pair)
        request = urllib.request.Request(
            cluster["server"] + path,
            method=method,
            data=json.encode(body) if body is not None else None,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, context=tls, timeout=240) as answer:
            found: dict[str, Any] = json.decode(answer.read())
            return found

    def create_config_map(self, name: str, namespace: str = "default") -> None:
        """Add a ConfigMap."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        self.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", body)


@contextmanager
def running_up(folder: Path, *flags: str) -> Iterator[Demo]:
    """A process of `up` until the block ends."""
    command = [sys.executable, "-m", "quarterdeck.cli", "up", "--in-memory", *FREE_PORTS]
    process = subprocess.Popen(
        [*command, "--kubeconfig", str(folder / "kubeconfig"), *flags],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"Open\s+(http\S+)", line):
                break
        else:
            pytest.fail(f"up did not start: {''.join(lines)}")
        threading.Thread(target=process.stdout.read, daemon=True).start()  # never let it block
        yield Demo(folder, found[1])
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=240)
        process.stdout.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    path = programs.require("chromium")
    require_build()
    flags = ["--no-sandbox", "--disable-dev-shm-usage"]  # a container has neither
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def demo(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """`up --demo`, shared by the tests of one worker."""
    with running_up(tmp_path_factory.mktemp("up"), "--demo") as found:
        yield found


@pytest.fixture(scope="session")
def administrator(chromium: Browser, demo: Demo) -> Any:
    """Cookies of the session that the one-time link opened."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(demo.link)
    page.get_by_role("heading", name="Overview").wait_for(timeout=WAIT_MS)
    state = context.storage_state()
    context.close()
    return state


Open = Callable[..., BrowserContext]


@pytest.fixture
def open_browser(chromium: Browser) -> Iterator[Open]:
    """Opens windows that end with the test; errors of a page fail it."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def watch(page: Page) -> None:
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: problems.append(str(error)))

    def open_(**options: Any) -> BrowserContext:
        size = {"width": 1280, "height": 800}
        context = chromium.new_context(**{"viewport": size, "color_scheme": "light", **options})
        context.on("page", watch)
        contexts.append(context)
        return context

    yield open_
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def page(open_browser: Open, administrator: Any) -> Page:
    """A window of the administrator."""
    return open_browser(storage_state=administrator).new_page()


def find_violations(page: Page) -> list[str]:
    """What axe finds wrong with a page; the policy of the page does not apply to tools."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in found
        for node in each["nodes"]
    ]
