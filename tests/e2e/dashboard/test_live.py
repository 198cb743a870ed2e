"""What changes appears by itself, and after a lost connection nothing is missing."""

import re
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, Route, expect
from tests.e2e.dashboard.conftest import WAIT_MS, Demo

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)
PATTERN = re.compile(r"/watch\?.*configmaps")


def test_objects_appear_and_go_by_themselves(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/objects/core/v1/configmaps")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    demo.create_config_map("made-elsewhere")
    expect(page.get_by_role("link", name="made-elsewhere")).to_be_visible()
    demo.call("DELETE", "/api/v1/namespaces/default/configmaps/made-elsewhere")
    expect(page.get_by_role("link", name="made-elsewhere")).to_have_count(0)


def test_what_cannot_work_is_listed_with_its_cause(page: Page, demo: Demo) -> None:
    fleets = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/fleets"
    sources = "/apis/clusterpulse.io/v1alpha1/namespaces/default/metricsources"
    fleet = {
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "Fleet",
        "metadata": {"name": "no-image"},
        "spec": {"replicas": 1, "image": "absent", "selector": {"app": "no-image"}},
    }
    source = {
        "apiVersion": "clusterpulse.io/v1alpha1",
        "kind": "MetricSource",
        "metadata": {"name": "no-field"},
        "spec": {
            "source": {"apiVersion": "v1", "kind": "Pod"},
            "fields": [{"name": "a", "path": ".spec.nodeName"}],
            "computed": [{"name": "b", "expression": "a + c"}],
        },
    }
    demo.call("POST", fleets, fleet)
    demo.call("POST", sources, source)
    page.goto(demo.url)
    for name, cause in (("no-image", "'absent' not found"), ("no-field", "unknown field 'c'")):
        link = page.get_by_role("link", name=f"default/{name}")
        item = page.get_by_role("listitem").filter(has=link)
        expect(item).to_contain_text(cause)
    page.get_by_role("link", name="default/no-field").click()
    condition = page.get_by_role("listitem").filter(has_text="InvalidSpec").first
    expect(condition.locator(".badge.bad")).to_have_text("False")
    demo.call("DELETE", f"{fleets}/no-image")
    demo.call("DELETE", f"{sources}/no-field")


def test_an_unavailable_registry_shows_its_error_in_full(page: Page, demo: Demo) -> None:
    registries = "/apis/clusterpulse.io/v1alpha1/namespaces/default/registryconnections"
    registry = {
        "apiVersion": "clusterpulse.io/v1alpha1",
        "kind": "RegistryConnection",
        "metadata": {"name": "lost"},
        "spec": {"displayName": "Lost registry", "endpoint": "http://127.0.0.1:1"},
    }
    demo.call("POST", registries, registry)
    page.goto(f"{demo.url}/clusters?tab=registries")
    row = page.get_by_role("row").filter(has_text="Lost registry")
    expect(row.locator(".badge")).to_have_text("Unavailable")
    expect(row.get_by_text("cannot connect to 127.0.0.1:1: connection refused")).to_be_visible()
    expect(row).not_to_contain_text("0 ms")
    demo.call("DELETE", f"{registries}/lost")


def test_titles_name_the_view_and_the_object_once(page: Page, demo: Demo) -> None:
    for path, title in (
        ("/", "Quarterdeck"),
        ("/clusters", "Clusters · Quarterdeck"),
        ("/clusters/demo-east", "demo-east · Clusters · Quarterdeck"),
    ):
        page.goto(f"{demo.url}{path}")
        expect(page).to_have_title(title)


def test_a_lost_connection_is_shown_and_what_was_missed_arrives(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/objects/core/v1/configmaps")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    listed = []
    page.on("request", lambda request: listed.append(request.url))
    page.context.set_offline(True)
    expect(page.get_by_text("Connection lost")).to_be_visible()
    demo.create_config_map("while-offline")
    page.context.set_offline(False)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="while-offline")).to_be_visible()
    # the watch went on from its resourceVersion: nothing was listed again
    assert [url for url in listed if "/k8s/api/v1/configmaps" in url] == []
    demo.call("DELETE", "/api/v1/namespaces/default/configmaps/while-offline")


def test_a_watch_that_is_too_old_is_listed_again(page: Page, demo: Demo) -> None:
    def expire(route: Route) -> None:
        """Answer as a server does that has compacted what the watches would continue from."""
        watches = re.findall(r"w=(\w+)~", unquote(route.request.url))
        ends = [
            f'event: end\ndata: {{"w":"{each}","error":{{"code":410}}}}\n\n' for each in watches
        ]
        demo.create_config_map("while-expired")
        body = "event: open\ndata: {}\n\n" + "".join(ends)
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    page.route(PATTERN, expire, times=1)
    page.goto(f"{demo.url}/objects/core/v1/configmaps")
    expect(page.get_by_role("link", name="while-expired")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    demo.create_config_map("after-expired")
    expect(page.get_by_role("link", name="after-expired")).to_be_visible()
    for name in ("while-expired", "after-expired"):
        demo.call("DELETE", f"/api/v1/namespaces/default/configmaps/{name}")


@pytest.fixture
def converged(page: Page, demo: Demo) -> None:
    """The application of the demo, rolled out."""
    page.goto(f"{demo.url}/applications/default/my-app")
    expect(page.get_by_test_id("ready")).to_have_text("3 of 3 replicas ready")


@pytest.mark.usefixtures("converged")
def test_an_edit_is_previewed_by_the_server_and_then_rolled_out(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/objects/cloudnative.elide.dev/v1/applications/default/my-app?tab=edit")
    editor = page.get_by_role("textbox", name="YAML")
    wanted = 4
    text = editor.input_value().replace("replicas: 3\n", f"replicas: {wanted}\n", 1)
    editor.fill(text)
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()
    page.get_by_role("button", name="Preview changes").click()
    changes = page.get_by_role("region", name="Changes")
    expect(changes).to_contain_text("-   replicas: 3")
    expect(changes).to_contain_text(f"+   replicas: {wanted}")
    path = "/apis/cloudnative.elide.dev/v1/namespaces/default/applications/my-app"
    assert demo.call("GET", path)["spec"]["replicas"] == 3
    page.get_by_role("button", name="Apply").click()
    expect(page).to_have_url(re.compile("applications/default/my-app$"))
    page.get_by_role("link", name="Open its view").click()
    expect(page.get_by_test_id("ready")).to_have_text("4 of 4 replicas ready")
    stored = demo.call("GET", path)
    stored["spec"]["replicas"] = 3
    demo.call("PUT", path, stored)
    expect(page.get_by_test_id("ready")).to_have_text("3 of 3 replicas ready")


@pytest.mark.usefixtures("converged")
def test_a_wrong_edit_is_refused_with_the_field(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/objects/cloudnative.elide.dev/v1/applications/default/my-app?tab=edit")
    editor = page.get_by_role("textbox", name="YAML")
    editor.fill(editor.input_value().replace("replicas: 3\n", "replicas: -1\n", 1))
    page.get_by_role("button", name="Preview changes").click()
    expect(page.get_by_role("alert")).to_contain_text("spec.replicas")
