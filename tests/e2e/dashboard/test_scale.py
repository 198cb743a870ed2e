"""Many clusters and many objects, scrolled: only what is in sight is in the document."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from bench.suites.web import SCROLL, list_tasks
from playwright.sync_api import Browser, expect
from tests.e2e.dashboard.conftest import ROOT, WAIT_MS, Open

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)
SIZES = [
    pytest.param((60, 300), id="small"),
    pytest.param((1_000, 10_000), id="full", marks=pytest.mark.full),
]


@pytest.fixture(params=SIZES)
def crowd(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[tuple[str, int, int]]:
    """The link of a dashboard with many clusters and many ConfigMaps."""
    clusters, objects = request.param
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.peers.web_page", str(clusters), str(objects)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        yield process.stdout.readline().strip(), clusters, objects
    finally:
        process.stdin.close()
        process.terminate()
        process.wait(timeout=240)
        process.stdout.close()


def test_many_clusters_and_objects_are_scrolled(
    open_browser: Open, chromium: Browser, crowd: tuple[str, int, int]
) -> None:
    link, clusters, objects = crowd
    page = open_browser().new_page()
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.goto(f"{link.partition('/login')[0]}/clusters")
    expect(page.get_by_test_id("count")).to_have_text(f"{clusters:,} clusters")
    last = page.get_by_role("link", name=f"cluster-{clusters - 1:04}")
    expect(last).to_have_count(0)
    page.locator(".cards-scroll").evaluate("node => { node.scrollTop = node.scrollHeight; }")
    expect(last).to_be_visible()
    assert page.locator(".card").count() < 60
    page.goto(f"{link.partition('/login')[0]}/objects/core/v1/configmaps")
    final = page.get_by_role("link", name=f"object-{objects - 1:05}")
    page.get_by_label("Filter", exact=True).fill("object-")
    expect(page.get_by_test_id("count")).to_have_text(f"{objects:,} objects")
    chromium.start_tracing(page=page, categories=["toplevel"])
    page.evaluate(SCROLL)
    tasks = list_tasks(json.loads(chromium.stop_tracing()))
    # of the processor: the time that passes is also that of everybody else on this machine
    assert 0 < max(used for _, used in tasks) < 50, "no task of the main thread over 50 ms"
    page.locator(".grid-scroll").evaluate("node => { node.scrollTop = 0; }")
    expect(page.get_by_role("link", name="object-00000")).to_be_visible()
    page.locator(".grid-scroll").evaluate("node => { node.scrollTop = node.scrollHeight; }")
    expect(final).to_be_visible()
    assert page.get_by_role("row").count() < 100
