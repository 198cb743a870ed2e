"""The dashboard in a real Chromium, over many clusters and many objects.

The budgets: first contentful paint under 0.5 s, the grid of 1,000 clusters there within 1 s, a main
thread that is busy for less than half of the time at 100 updates a second, and no task over 50 ms
while 10,000 objects are scrolled. There is no peer: other dashboards show other things.

Tasks are measured by a trace of the browser, twice: as time that passed, and as time of the
processor. On a busy machine the first says how long others kept the main thread waiting.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.process import Child
from bench.series import Figures, Missed, Runs, Series, case
from bench.suite import OURS, Case, Missing, Scale, Suite

RATE = 100
_REPOSITORY = Path(__file__).parents[2]
_FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]
SCROLL = """async () => {
    const scroller = document.querySelector(".grid-scroll");
    for (let top = 0; top < scroller.scrollHeight; top += 1500) {
        scroller.scrollTop = top;
        await new Promise(requestAnimationFrame);
    }
}"""
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def cases(scale: Scale) -> Sequence[Case]:
    clusters = scale.pick(100, 1_000, 1_000)
    objects = scale.pick(500, 10_000, 10_000)
    seconds = scale.pick(2, 10, 30)
    rounds = scale.pick(1, 3, 5)
    series = Series(lambda: _looking(clusters, objects, seconds), rounds=rounds, warms_up=False)
    grid = f"{clusters:,} clusters"
    rows = f"{objects:,} objects"
    return [
        case(series, "first contentful paint", "ms", "paint", note=grid),
        case(series, "grid of clusters shown", "ms", "grid", note=grid),
        case(series, f"main thread at {RATE} updates a second", "%", "busy", note=rows),
        case(series, "longest task while scrolling", "ms", "task", note=rows),
        case(series, "longest task while scrolling, processor time", "ms", "cpu", note=rows),
    ]


@contextmanager
def _looking(clusters: int, objects: int, seconds: int) -> Iterator[Runs]:
    chromium = shutil.which("chromium")
    if chromium is None:
        yield {OURS: Missing("chromium is not installed: run make tools first")}
        return
    if (unbuilt := build_page(_REPOSITORY)) is not None:
        yield {OURS: unbuilt}
        return
    from playwright.sync_api import sync_playwright

    server = Child(["-m", "bench.peers.web_page", str(clusters), str(objects)])
    link = server.line().strip()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            page = context.new_page()
            page.goto(link)
            page.get_by_role("heading", name="Overview").wait_for()
            window = _Window(browser, context, link.partition("/login")[0])

            def run(figures: Figures) -> None:
                figures.update(window.measure_clusters(clusters))
                figures.update(window.measure_objects(server, objects, seconds))

            yield {OURS: run}
            browser.close()
    finally:
        server.close()


def build_page(repository: Path) -> Missing | None:
    """Build the dashboard where its sources changed; what is missing where that fails.

    Without a build the server answers with a notice, which no measurement would wait out.
    """
    command = ["bash", "tools/web.sh", ".tools", sys.executable]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    said = (done.stdout + done.stderr).strip().rpartition("\n")[2]
    return Missing(f"the dashboard is not built: run make web first ({said})")


class _Window:
    """A browser that is logged in."""

    def __init__(self, browser: Any, context: Any, url: str) -> None:
        self._browser = browser
        self._context = context
        self._url = url

    def measure_clusters(self, count: int) -> Figures:
        page = self._context.new_page()
        page.goto(f"{self._url}/clusters")
        shown = f"""() => document.querySelector("[data-testid=count]")?.textContent ===
            "{count:,} clusters" && document.querySelector(".card") ? performance.now() : null"""
        grid = page.wait_for_function(shown).json_value()
        paint = page.evaluate(_PAINT)
        page.close()
        if paint is None:
            raise Missed("the browser reported no paint")
        return {"grid": grid, "paint": paint}

    def measure_objects(self, server: Child, count: int, seconds: int) -> Figures:
        page = self._context.new_page()
        page.goto(f"{self._url}/objects/core/v1/configmaps")
        shown = f"""() => {{
            const text = document.querySelector("[data-testid=count]")?.textContent ?? "";
            return parseInt(text.replace(",", "")) >= {count};
        }}"""
        page.wait_for_function(shown)
        self._browser.start_tracing(page=page, categories=["toplevel"])
        page.evaluate(SCROLL)
        tasks = list_tasks(json.loads(self._browser.stop_tracing()))
        if not tasks:
            raise Missed("the trace of the browser has no tasks of its main thread")
        session = self._context.new_cdp_session(page)
        session.send("Performance.enable")
        before = _read_metrics(session)
        if server.ask(f"{RATE} {seconds}").strip() != "done":
            raise Missed("the server ended")
        after = _read_metrics(session)
        page.close()
        elapsed = after["Timestamp"] - before["Timestamp"]
        busy = (after["TaskDuration"] - before["TaskDuration"]) / elapsed * 100
        longest = {"task": max(wall for wall, _ in tasks), "cpu": max(cpu for _, cpu in tasks)}
        return {"busy": busy, **longest}


def list_tasks(trace: dict[str, Any]) -> list[tuple[float, float]]:
    """The tasks of the main thread of pages: how long each took, and of the processor, in ms."""
    events = trace["traceEvents"]
    mains = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    return [
        (each["dur"] / 1000, each.get("tdur", 0) / 1000)
        for each in events
        if each["ph"] == "X"
        and each["name"].endswith("RunTask")
        and (each["pid"], each["tid"]) in mains
    ]


def _read_metrics(session: Any) -> dict[str, float]:
    found = session.send("Performance.getMetrics")["metrics"]
    return {each["name"]: each["value"] for each in found}


SUITE = Suite(name="web", title="Dashboard", cases=cases, versions=("playwright",), is_process=True)
