"""What single views promise: steps of a change, two runs side by side, a life, a tree, paper."""

import re
import zlib
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.e2e.dashboard.conftest import WAIT_MS, Demo, find_violations

from quarterdeck.kit import json

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)
EXPERIMENTS = "/apis/experiments.illm.io/v1alpha1/namespaces/experiments/experiments"


def find_panel(page: Page, title: str) -> Locator:
    heading = page.get_by_role("heading", name=title, exact=True)
    return page.locator("section.panel").filter(has=heading)


def test_a_pipeline_shows_its_canary_and_whom_a_change_reaches(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/pipelines/default/field-canary")
    canary = find_panel(page, "Canary")
    expect(canary).to_be_visible()
    steps = demo.call(
        "GET",
        "/apis/fleetmanagement.grafana.com/v1alpha1/namespaces/default/pipelines/field-canary",
    )["spec"]["rollout"]["steps"]
    expect(canary.get_by_role("listitem")).to_have_count(len(steps))
    expect(canary.get_by_role("listitem").first).to_contain_text(f"{steps[0]['weight']} %")
    expect(canary).to_contain_text(re.compile("Canary|Promoted|Direct|Baking|Progressing"))
    expect(find_panel(page, "Blast radius")).to_be_visible()
    expect(find_panel(page, "Revisions")).to_be_visible()


def test_events_of_one_second_are_in_their_order(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/experiments/experiments/gateway-tutorial")
    events = page.get_by_test_id("events")
    expect(events).to_contain_text("Provisioning -> Ready")
    phases = re.findall(r"\w+ -> (Pending|Provisioning|Ready)", events.inner_text())
    assert phases == ["Ready", "Provisioning", "Pending"]


def test_two_experiments_are_compared(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/experiments/experiments/gateway-tutorial")
    expect(find_panel(page, "Comparison")).to_be_visible()
    first = demo.call("GET", f"{EXPERIMENTS}/gateway-tutorial")
    body = {
        "apiVersion": first["apiVersion"],
        "kind": "Experiment",
        "metadata": {"name": "gateway-again"},
        "spec": first["spec"],
    }
    demo.call("POST", EXPERIMENTS, body)
    page.get_by_label("Compare with").select_option("gateway-again")
    expect(page).to_have_url(re.compile(r"compare=gateway-again"))
    runs = find_panel(page, "Comparison").get_by_role("region", name="Runs")
    expect(runs.get_by_role("columnheader")).to_have_text(
        ["Measure", "gateway-tutorial", "gateway-again"]
    )
    targets = str(len(first["spec"]["targets"]))
    row = runs.get_by_role("row").filter(has_text="Targets")
    expect(row.get_by_role("cell")).to_have_text(["Targets", targets, targets])
    check_metrics(page, demo)
    demo.call("DELETE", f"{EXPERIMENTS}/gateway-again")


def check_metrics(page: Page, demo: Demo) -> None:
    """Metrics appear when the second run has ended; other values are another result."""
    metrics = page.get_by_role("region", name="Metrics")
    row = metrics.get_by_role("row").filter(has_text="p99")
    cells = ["p99", "0.42", "0.42", "0.0 %", "–", "1", "same"]
    expect(row.get_by_role("cell")).to_have_text(cells)
    path = "/api/v1/namespaces/experiments/configmaps/gateway-again-results"
    stored = demo.call("GET", path)
    summary = json.decode(stored["data"]["summary.json"])
    summary["samples"] = {"p99": [0.21], "errors": [3.0]}
    stored["data"]["summary.json"] = json.encode(summary).decode()
    demo.call("PUT", path, stored)
    page.reload()
    expect(row.get_by_role("cell")).to_have_text(
        ["p99", "0.42", "0.21", "-50.0 %", "–", "1", "unclear"]
    )
    row = metrics.get_by_role("row").filter(has_text="errors")
    expect(row.get_by_role("cell")).to_have_text(["errors", "–", "3", "–", "–", "–", "missing"])
    assert find_violations(page) == []


def test_a_machine_that_attests_shows_it_between_start_and_ready(page: Page, demo: Demo) -> None:
    def attest(route: Route) -> None:
        """The same claim, of a machine that had to prove itself."""
        answer = route.fetch()
        document: dict[str, Any] = answer.json()
        for each in document.get("items") or ():
            conditions = each["status"]["conditions"]
            proof = {**conditions[0], "type": "Attested", "status": "True"}
            each["status"]["conditions"] = [*conditions, proof]
        route.fulfill(response=answer, json=document)

    page.route("**/k8s/apis/hypervisor.hyperfleet.io/**/machineclaims?*", attest)
    page.goto(f"{demo.url}/machines/claims/default/workbench")
    steps = page.get_by_test_id("timeline").get_by_role("listitem")
    expect(steps.locator("strong")).to_have_text(
        ["Claimed", "Template found", "Cloned", "Started", "Attested", "Bootstrapped", "Ready"]
    )


def test_owners_are_a_tree_from_the_application_to_its_pods(page: Page, demo: Demo) -> None:
    path = "/objects/cloudnative.elide.dev/v1/applications/default/my-app?tab=owners"
    page.goto(demo.url + path)
    tree = page.get_by_test_id("owners")
    kinds = tree.locator("ul > li > .row > .faint")
    expect(kinds.filter(has_text="Pod").first).to_be_visible()
    depth = kinds.filter(has_text=re.compile("^Pod$")).first.evaluate(
        "node => { let n = 0; for (let e = node; e; e = e.parentElement) n += e.tagName === 'LI'; "
        "return n; }"
    )
    assert depth == 4, "Application, Deployment, ReplicaSet, Pod"
    expect(kinds.first).to_have_text("Application")


def test_views_are_printed_without_the_frame_and_with_every_row(page: Page, demo: Demo) -> None:
    for number in range(120):
        demo.create_config_map(f"printed-{number:03}")
    page.goto(f"{demo.url}/objects/core/v1/configmaps?filter=printed-")
    expect(page.get_by_test_id("count")).to_have_text("120 objects")
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.get_by_role("navigation", name="Views")).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    document = page.pdf(format="A4")
    assert count_pages(document) >= 4
    page.emulate_media(media="screen")
    expect(page.get_by_role("row")).not_to_have_count(121)
    assert page.get_by_role("row").count() < 60, "on a screen only rows in sight are there"
    for number in range(120):
        demo.call("DELETE", f"/api/v1/namespaces/default/configmaps/printed-{number:03}")


def count_pages(document: bytes) -> int:
    """The pages of a PDF, some of whose objects are packed."""
    text = document
    for packed in re.findall(rb"stream\r?\n(.*?)endstream", document, re.DOTALL):
        try:
            text += zlib.decompress(packed)
        except zlib.error:
            continue
    return len(re.findall(rb"/Type\s*/Page\b", text))


def test_a_time_without_samples_is_a_gap_in_the_chart(page: Page, demo: Demo) -> None:
    samples = [[minute * 60, "4"] for minute in (*range(10), *range(40, 50))]
    metric = {"__name__": "clusterpulse_cluster_nodes_ready", "cluster": "demo-east"}
    answer = {
        "status": "success",
        "data": {"resultType": "matrix", "result": [{"metric": metric, "values": samples}]},
    }

    def reply(route: Route) -> None:
        route.fulfill(content_type="application/json", body=json.encode(answer))

    page.route("**/metrics/history?*", reply)
    page.goto(f"{demo.url}/clusters/demo-east")
    expect(page.get_by_role("img", name="Nodes ready over time, now 4, with 1 gap")).to_be_visible()
