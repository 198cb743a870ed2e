"""Every view of the dashboard in a real Chromium, on a running `up --demo`."""

import contextlib
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, TimeoutError, expect
from tests.e2e.dashboard.conftest import ROOT, WAIT_MS, Demo, Open, find_violations

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)

APPLICATION = "/objects/cloudnative.elide.dev/v1/applications/default/my-app"
VIEWS = [
    ("/", "Overview", "need attention"),
    ("/clusters", "Clusters", "Demo Lost"),
    ("/clusters?tab=registries", "Clusters", "Demo registry"),
    ("/clusters/demo-east", "Demo East (OpenShift)", "Pods running"),
    ("/clusters/demo-east?tab=nodes", "Demo East (OpenShift)", "node-0"),
    ("/clusters/demo-east?tab=operators", "Demo East (OpenShift)", "cert-manager"),
    ("/clusters/demo-east?tab=custom", "Demo East (OpenShift)", "deployment"),
    ("/clusters/demo-west?tab=alerts", "Demo West", "Since"),
    ("/applications", "Applications", "nginx:1.27"),
    ("/applications/default/my-app", "my-app", "replicas ready"),
    ("/pipelines", "Pipelines", "pipeline-sample"),
    ("/pipelines/default/pipeline-sample", "pipeline-sample", "Blast radius"),
    ("/machines", "Machines", "workbench"),
    ("/machines/fleets/default/web", "web", "Machines of the fleet"),
    ("/machines/claims/default/workbench", "workbench", "Bootstrapped"),
    ("/experiments", "Experiments", "gateway-tutorial"),
    ("/experiments/experiments/gateway-tutorial", "gateway-tutorial", "loadgen"),
    ("/objects", "Objects", "Deployment"),
    ("/objects/cloudnative.elide.dev/v1/applications", "Application", "my-app"),
    (APPLICATION, "my-app", "Conditions"),
    (f"{APPLICATION}?tab=yaml", "my-app", "nginx:1.27"),
    (f"{APPLICATION}?tab=events", "my-app", "ReconciliationSucceeded"),
    (f"{APPLICATION}?tab=owners", "my-app", "ReplicaSet"),
    (f"{APPLICATION}?tab=why", "my-app", "woken by"),
]


def visit(page: Page, demo: Demo, path: str, title: str, text: str) -> None:
    page.goto(demo.url + path)
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    expect(page.get_by_role("main")).to_contain_text(text)


def test_each_view_shows_the_demo_and_axe_finds_nothing(page: Page, demo: Demo) -> None:
    for index, (path, title, text) in enumerate(VIEWS):
        page.emulate_media(color_scheme="dark" if index % 2 else "light")
        visit(page, demo, path, title, text)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        assert (path, find_violations(page)) == (path, [])


def test_views_fit_on_a_phone(open_browser: Open, administrator: object, demo: Demo) -> None:
    size = {"width": 390, "height": 844}
    page = open_browser(storage_state=administrator, viewport=size).new_page()
    for path, title, text in VIEWS:
        visit(page, demo, path, title, text)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert (path, width) == (path, 390)
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Machines").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Machines")


def test_a_long_name_leaves_room_for_the_other_columns(page: Page, demo: Demo) -> None:
    name = "long-" + "x" * 240
    path = "/apis/cloudnative.elide.dev/v1/namespaces/default/applications"
    application = {
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": {"name": name},
        "spec": {"image": "nginx:1.27", "replicas": 0},
    }
    demo.call("POST", path, application)
    try:
        visit(page, demo, "/applications", "Applications", name)
        table = page.get_by_role("region", name="Applications")
        assert table.evaluate("each => each.scrollWidth - each.clientWidth") == 0
    finally:
        demo.call("DELETE", f"{path}/{name}")


def test_missing_object_offers_nothing_to_do(page: Page, demo: Demo) -> None:
    visit(page, demo, "/applications/default/missing", "missing", "Application missing not found")
    expect(page.get_by_role("main").get_by_role("link", name="YAML")).to_have_count(0)


TYPE_AT_ONCE = """
new MutationObserver((_, observer) => {
  const input = document.querySelector('input[aria-label="Filter"]');
  if (!input) return;
  observer.disconnect();
  input.value = "none-of-them";
  input.dispatchEvent(new Event("input", { bubbles: true }));
}).observe(document, { childList: true, subtree: true });
"""
"""Types into the filter as soon as it is in the document, before the browser has painted it."""


def test_a_filter_counts_from_its_first_moment(page: Page, demo: Demo) -> None:
    page.add_init_script(TYPE_AT_ONCE)
    page.goto(f"{demo.url}/objects/core/v1/configmaps")
    expect(page.get_by_text("No object matches the filter")).to_be_visible()


NOTHING_AFTER_A_PAINT = """
const { fetch, setTimeout } = window;
let isHeld = false;
window.fetch = (...given) => {
  isHeld = true;
  return fetch(...given);
};
window.setTimeout = (work, ms, ...more) =>
  isHeld && ms === undefined ? 0 : setTimeout(work, ms, ...more);
"""
"""Runs no effect after a paint, from the first request on; effects before a paint still run."""


def test_clusters_and_the_connection_are_followed_before_the_first_paint(
    page: Page, demo: Demo
) -> None:
    page.add_init_script(NOTHING_AFTER_A_PAINT)
    visit(page, demo, "/clusters", "Clusters", "Demo Lost")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_the_keyboard_goes_everywhere(page: Page, demo: Demo) -> None:
    visit(page, demo, "/experiments", "Experiments", "gateway-tutorial")
    for _ in range(5):  # the second key counts only soon after the first: a busy machine is late
        page.keyboard.press("g")
        page.keyboard.press("c")
        with contextlib.suppress(TimeoutError):
            page.wait_for_url(f"{demo.url}/clusters", timeout=5_000)
            break
    expect(page).to_have_url(f"{demo.url}/clusters")
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill("gateway-tut")
    results = page.get_by_role("listbox", name="Results").get_by_role("option")
    expect(results.first).to_have_text(re.compile("gateway-tutorial.*Experiment$"))
    assert find_violations(page) == []
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/experiments/experiments/gateway-tutorial$"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Search everything")


def test_found_objects_appear_at_once_and_ours_come_first(page: Page, demo: Demo) -> None:
    demo.call("POST", "/api/v1/namespaces", {"metadata": {"name": "gateway-tut"}})
    held: list[Route] = []
    page.route("**/k8s/api/v1/namespaces?limit=*", lambda route: held.append(route))
    visit(page, demo, "/experiments", "Experiments", "gateway-tutorial")
    with page.expect_response(re.compile("/experiments\\?limit=")):
        page.keyboard.press("/")
        page.get_by_role("combobox", name="Search").fill("gateway-tut")
    results = page.get_by_role("listbox", name="Results").get_by_role("option")
    expect(results).to_have_count(0)
    for route in held:
        route.continue_()
    expect(results.first).to_have_text(re.compile("gateway-tutorial.*Experiment$"))
    expect(results.filter(has_text=re.compile("^gateway-tutNamespace$"))).to_have_count(1)
    demo.call("DELETE", "/api/v1/namespaces/gateway-tut")


def test_times_are_relative_and_exact_on_hover(page: Page, demo: Demo) -> None:
    visit(page, demo, "/applications", "Applications", "my-app")
    age = page.locator("time").first
    expect(age).to_have_text(re.compile("ago|now"))
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d", age.get_attribute("title") or "")


@pytest.mark.skipif("QUARTERDECK_SCREENSHOTS" not in os.environ, reason="set it to write pictures")
def test_views_are_captured_for_the_docs(page: Page, demo: Demo) -> None:
    folder = ROOT / "docs/images/dashboard"
    folder.mkdir(parents=True, exist_ok=True)
    shown: list[tuple[str, tuple[str, str, str], str]] = [
        ("overview", VIEWS[0], "light"),
        ("clusters", VIEWS[1], "dark"),
        ("application", VIEWS[8], "light"),
        ("experiment", VIEWS[15], "dark"),
        ("machine", VIEWS[13], "light"),
    ]
    for name, (path, title, text), scheme in shown:
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        visit(page, demo, path, title, text)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        _write_picture(page, folder / f"{name}.png")


def _write_picture(page: Page, path: Path) -> None:
    page.screenshot(path=path, animations="disabled")
    assert path.stat().st_size < 200_000
