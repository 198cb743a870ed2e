"""A page left open does not grow: heap and document stay as they are while objects change."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.dashboard.conftest import ROOT, WAIT_MS, Open

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)
OBJECTS = 300
MEGABYTE = 1024 * 1024
UPDATES = [
    pytest.param(2_000, id="small"),
    pytest.param(50_000, id="full", marks=[pytest.mark.full, pytest.mark.timeout(1800)]),
]
VIEWS = ("/", "/clusters", "/objects/core/v1/configmaps", "/objects", "/machines", "/pipelines")


class Peer:
    """A dashboard over objects that change on demand."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.link = self._read()
        self.url = self.link.partition("/login")[0]

    def tell(self, line: str) -> None:
        """Have something done, and wait until it is."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._read() == "done"

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture
def peer(chromium: Browser) -> Iterator[Peer]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.peers.web_page", "20", str(OBJECTS)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield Peer(process)
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(timeout=240)
        process.stdout.close()


def measure(page: Page) -> dict[str, int]:
    """What is left after the garbage is collected."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    found: Any = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    wanted = ("JSHeapUsedSize", "Nodes", "JSEventListeners")
    return {each["name"]: int(each["value"]) for each in found if each["name"] in wanted}


@pytest.mark.parametrize("updates", UPDATES)
def test_a_page_does_not_grow_with_updates(open_browser: Open, peer: Peer, updates: int) -> None:
    page = open_browser().new_page()
    page.goto(peer.link)
    page.goto(f"{peer.url}/objects/core/v1/configmaps?filter=object-")
    expect(page.get_by_test_id("count")).to_have_text(f"{OBJECTS} objects")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    before, after = (change_objects(page, peer, updates, total=OBJECTS + n) for n in (1, 2))
    assert after["JSHeapUsedSize"] - before["JSHeapUsedSize"] < MEGABYTE
    assert after["Nodes"] <= before["Nodes"] + 50
    assert after["JSEventListeners"] <= before["JSEventListeners"] + 5


def change_objects(page: Page, peer: Peer, updates: int, *, total: int) -> dict[str, int]:
    """Change objects, then add one: when the page shows it, every change before it has arrived."""
    peer.tell(f"churn {updates}")
    peer.tell(f"add {total}")
    expect(page.get_by_test_id("count")).to_have_text(f"{total} objects")
    return measure(page)


def test_a_page_does_not_grow_by_going_through_its_views(open_browser: Open, peer: Peer) -> None:
    page = open_browser().new_page()
    page.goto(peer.link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    visit_all(page, rounds=2)
    before = measure(page)
    visit_all(page, rounds=6)
    after = measure(page)
    assert after["JSHeapUsedSize"] - before["JSHeapUsedSize"] < MEGABYTE
    assert after["JSEventListeners"] <= before["JSEventListeners"] + 20


def visit_all(page: Page, *, rounds: int) -> None:
    """Go from view to view within the page, and end where it began."""
    for path in (*VIEWS * rounds, "/"):
        page.evaluate(
            """path => {
                const link = document.createElement("a");
                link.href = path;
                document.body.append(link);
                link.click();
                link.remove();
            }""",
            path,
        )
        expect(page.get_by_role("heading", level=1)).to_be_visible()
