"""Requests of the page that fail: nothing wrong is shown meanwhile, and nothing stays broken."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect
from tests.e2e.dashboard.conftest import WAIT_MS, Demo

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)
NOT_NOW = '{"kind":"Status","status":"Failure","code":503,"message":"the store is closed"}'
CONNECTIONS = "/apis/clusterpulse.io/v1alpha1/namespaces/default/clusterconnections"
NO_LISTS = "nowhere"
"""A page on which no list that arrives opens the stream again."""
MAPS = re.compile(r"/k8s/api/v1/configmaps\?")


def fail(status: int = 503, body: str = NOT_NOW) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=status, content_type="application/json", body=body)


def test_a_session_that_cannot_be_checked_now_is_kept(page: Page, demo: Demo) -> None:
    page.route("**/session", fail(), times=1)
    page.goto(demo.url)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_a_refused_stream_of_a_known_viewer_is_opened_again(page: Page, demo: Demo) -> None:
    page.route("**/watch?*", fail(401, "{}"), times=1)
    page.goto(f"{demo.url}/{NO_LISTS}")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_a_stream_without_an_answer_is_opened_again(page: Page, demo: Demo) -> None:
    page.clock.install()
    page.route("**/watch?*", lambda _: None, times=1)
    with page.expect_request("**/watch?*"):
        page.goto(f"{demo.url}/{NO_LISTS}")
    page.clock.fast_forward(45_000)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_kinds_that_cannot_be_read_are_asked_for_again(page: Page, demo: Demo) -> None:
    page.route("**/k8s/apis", fail(), times=1)
    page.goto(f"{demo.url}/objects")
    expect(page.get_by_role("link", name="ConfigMap", exact=True)).to_be_visible()


def test_clusters_that_cannot_be_read_are_not_absent(page: Page, demo: Demo) -> None:
    page.route("**/api/v1/clusters", fail())
    page.goto(f"{demo.url}/clusters/demo-east")
    expect(page.get_by_text("The cluster cannot be read")).to_be_visible()
    page.unroute("**/api/v1/clusters")
    expect(page.get_by_role("link", name="ClusterConnection")).to_be_visible()


def test_a_percent_sign_that_encodes_nothing_is_part_of_the_name(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/clusters/100%25")
    expect(page.get_by_text("No cluster 100%")).to_be_visible()
    page.evaluate(
        "history.pushState(null, '', '/clusters/%'); dispatchEvent(new Event('popstate'))"
    )
    expect(page.get_by_text("No cluster %")).to_be_visible()


def test_a_list_that_failed_is_read_again_when_somebody_comes_back(page: Page, demo: Demo) -> None:
    page.clock.install()
    page.route(MAPS, fail())
    page.goto(f"{demo.url}/objects/core/v1/configmaps")
    expect(page.get_by_text("the store is closed")).to_be_visible()
    page.get_by_role("link", name="Pipelines", exact=True).click()
    expect(page.get_by_role("heading", name="Pipelines").first).to_be_visible()
    page.clock.fast_forward(4_000)  # nobody looks when the list would be read again
    page.unroute(MAPS)
    page.go_back()
    expect(page.get_by_role("link", name="kube-root-ca.crt").first).to_be_visible()


def test_what_cannot_be_read_is_not_called_well(page: Page, demo: Demo) -> None:
    page.route(re.compile(r"/k8s/apis/[^?]*\?"), fail(200, '{"metadata":{},"items":[]}'))
    page.route("**/api/v1/clusters", fail())
    page.goto(demo.url)
    expect(page.get_by_text("Not everything can be read: the store is closed")).to_be_visible()
    expect(page.get_by_text("Nothing is declared yet")).to_have_count(0)


def test_a_cluster_that_cannot_be_read_again_stays(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/clusters/demo-east")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_be_visible()
    before = demo.call("GET", f"{CONNECTIONS}/demo-east")
    page.route("**/api/v1/clusters/demo-east", fail())
    with page.expect_response("**/api/v1/clusters/demo-east") as failed:
        spec = {**before["spec"], "displayName": "Renamed"}
        demo.call("PUT", f"{CONNECTIONS}/demo-east", {**before, "spec": spec})
    assert failed.value.status == 503
    with page.expect_response("**/api/v1/clusters/demo-east"):  # and it is tried again
        expect(heading).to_be_visible()
    page.unroute("**/api/v1/clusters/demo-east")
    expect(page.get_by_role("heading", name="Renamed")).to_be_visible()
    now = demo.call("GET", f"{CONNECTIONS}/demo-east")
    demo.call("PUT", f"{CONNECTIONS}/demo-east", {**now, "spec": before["spec"]})


def test_a_tab_shows_no_rows_of_the_one_before(page: Page, demo: Demo) -> None:
    page.route("**/clusters/demo-east/operators", fail(200, "[]"))
    page.route("**/clusters/demo-east/alerts", lambda _: None)
    page.goto(f"{demo.url}/clusters/demo-east?tab=operators")
    expect(page.get_by_text("No operators are installed")).to_be_visible()
    with page.expect_request("**/clusters/demo-east/alerts"):
        page.get_by_role("link", name="Alerts").click()
    expect(page.get_by_role("status", name="Loading")).to_be_visible()
    expect(page.get_by_text("No alerts")).to_have_count(0)


def test_an_edit_does_not_remove_a_finalizer_that_came_meanwhile(page: Page, demo: Demo) -> None:
    applications = "/apis/cloudnative.elide.dev/v1/namespaces/default/applications"
    application = {
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": {"name": "held"},
        "spec": {"image": "registry.example/web:1", "replicas": 0},
    }
    demo.call("POST", applications, application)
    page.goto(f"{demo.url}/objects/cloudnative.elide.dev/v1/applications/default/held?tab=edit")
    editor = page.get_by_role("textbox", name="YAML")
    expect(editor).to_have_value(re.compile("replicas: 0"))
    stored = demo.call("GET", f"{applications}/held")
    finalizers = [*stored["metadata"].get("finalizers", []), "example.com/hold"]
    stored["metadata"]["finalizers"] = finalizers
    demo.call("PUT", f"{applications}/held", stored)
    expect(page.get_by_text("The object has changed since you began.")).to_be_visible()
    page.get_by_role("button", name="Preview changes").click()
    expect(page.get_by_role("alert")).to_contain_text("the object has been modified")
    stored = demo.call("GET", f"{applications}/held")
    assert stored["metadata"]["finalizers"] == finalizers
    stored["metadata"]["finalizers"] = finalizers[:-1]
    demo.call("PUT", f"{applications}/held", stored)
    demo.call("DELETE", f"{applications}/held")


def test_a_comparison_shows_no_metrics_of_the_run_before(page: Page, demo: Demo) -> None:
    experiments = "/apis/experiments.illm.io/v1alpha1/namespaces/default/experiments"
    spec = {
        "suspend": True,
        "targets": [{"name": "app", "cluster": {"type": "hub"}}],
        "workflow": {"template": "smoke", "completion": {"mode": "workflow"}},
    }
    for name in ("run-a", "run-b", "run-c"):
        metadata = {"name": name}
        kind = {"apiVersion": "experiments.illm.io/v1alpha1", "kind": "Experiment"}
        demo.call("POST", experiments, {**kind, "metadata": metadata, "spec": spec})
    metric = '{"metrics":[{"name":"requests","meanA":1,"meanB":2}],"message":""}'
    page.route(re.compile("/comparison.*run-b$"), fail(200, metric))
    page.route(re.compile("/comparison.*run-c$"), lambda _: None)
    page.goto(f"{demo.url}/experiments/default/run-a?compare=run-b")
    expect(page.get_by_role("cell", name="requests")).to_be_visible()
    with page.expect_request(re.compile("/comparison.*run-c$")):
        page.get_by_role("combobox", name="Compare with").select_option("run-c")
    expect(page.get_by_role("columnheader", name="run-c").first).to_be_visible()
    expect(page.get_by_role("cell", name="requests")).to_have_count(0)
    for name in ("run-a", "run-b", "run-c"):
        demo.call("DELETE", f"{experiments}/{name}")


def test_a_graph_of_many_dependencies_is_shown(page: Page, demo: Demo) -> None:
    experiments = "/apis/experiments.illm.io/v1alpha1/namespaces/default/experiments"
    names = [f"t{number:02}" for number in range(32)]
    targets = [
        {"name": name, "cluster": {"type": "hub"}, "depends": names[:number]}
        for number, name in enumerate(names)
    ]
    document = {
        "apiVersion": "experiments.illm.io/v1alpha1",
        "kind": "Experiment",
        "metadata": {"name": "wide"},
        "spec": {
            "suspend": True,
            "targets": targets,
            "workflow": {"template": "smoke", "completion": {"mode": "workflow"}},
        },
    }
    demo.call("POST", experiments, document)
    page.goto(f"{demo.url}/experiments/default/wide")
    expect(page.get_by_test_id("targets").get_by_text("t31", exact=True)).to_be_visible()
    expect(page.get_by_test_id("targets").locator(".arrow")).to_have_count(31)
    demo.call("DELETE", f"{experiments}/wide")
