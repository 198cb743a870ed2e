"""What a reading keeps of the one before it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from quarterdeck.hubstate.collect.collected import Collected, fill_unread
from quarterdeck.inventory.cluster import ClusterTotals
from quarterdeck.inventory.resources import PodSummary, ResourceLists, ServiceSummary

AT = datetime(2026, 5, 1, tzinfo=UTC)
POD = PodSummary("p", "a", "Running")
SERVICE = ServiceSummary("s", "a", "ClusterIP")


def build(**parts: Any) -> Collected:
    given: dict[str, Any] = {
        "at": AT,
        "nodes": (),
        "totals": ClusterTotals(timestamp="", namespaces=2, deployments=3, pods=5),
        "info": {"api_url": "https://old", "version": "4.16.3", "channel": "stable"},
        "namespaces": ("a", "b"),
        "resources": ResourceLists(services=(SERVICE,)),
        "operators": (),
        "cluster_operators": (),
        "problems": {},
    }
    return Collected(**(given | parts))


def test_a_complete_reading_replaces_everything() -> None:
    found = build(
        totals=ClusterTotals(timestamp=""), info={}, namespaces=(), resources=ResourceLists()
    )
    assert fill_unread(found, build()) == found


def test_what_failed_is_kept_and_everything_else_is_new() -> None:
    found = build(
        totals=ClusterTotals(timestamp="", pods=6),
        info={"api_url": "https://new", "version": "v1.32"},
        namespaces=None,
        resources=ResourceLists(pods=(POD,)),
        operators=None,
        cluster_operators=None,
        problems=dict.fromkeys(("namespaces", "services", "resources", "cluster version"), "500"),
    )
    assert fill_unread(found, build()) == msgspec.structs.replace(
        found,
        totals=ClusterTotals(timestamp="", namespaces=2, deployments=3, pods=6),
        info={"api_url": "https://new", "version": "4.16.3", "channel": "stable"},
        namespaces=("a", "b"),
        resources=ResourceLists(pods=(POD,), services=(SERVICE,)),
        operators=(),
        cluster_operators=(),
    )


@pytest.mark.parametrize("part", ["console", "version"])
def test_a_new_version_is_not_hidden_by_another_request_that_fails(part: str) -> None:
    old = {"api_url": "u", "platform": "OpenShift", "version": "4.16.3", "console_url": "https://c"}
    new = old | {"version": "4.17.0", "console_url": "https://guess" if part == "console" else "c"}
    filled = fill_unread(build(info=new, problems={part: "503"}), build(info=old))
    assert filled.info == new | ({"console_url": "https://c"} if part == "console" else {})


def test_the_version_of_kubernetes_is_kept_while_it_cannot_be_read() -> None:
    old = {"api_url": "u", "platform": "Kubernetes", "version": "v1.32.1"}
    found = build(info=old | {"version": "unknown"}, problems={"version": "503"})
    assert fill_unread(found, build(info=old)).info == old


def test_lists_that_are_not_wanted_stay_away() -> None:
    assert fill_unread(build(resources=None), build()).resources is None
    found = build(problems={"services": "500"})
    assert fill_unread(found, build(resources=None)) == found
