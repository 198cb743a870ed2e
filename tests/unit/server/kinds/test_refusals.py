"""What is refused of pods, jobs, webhooks, networking and volumes, and with which words.

`refusals.jsonl` has the answers of our server, looked over by hand: unlike those in `tests/golden`
they were not recorded from a kube-apiserver.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.server.kinds.test_strategies import changes, made, problems

FILE = Path(__file__).with_name("refusals.jsonl")
ROWS = [json.loads(line) for line in FILE.read_text().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['kind']}-{n}" for n, row in enumerate(ROWS, 1)])
def test_problems_name_the_field_and_what_is_wrong(row: dict[str, Any]) -> None:
    assert problems(row["apiVersion"], row["kind"], **row["object"]) == row["problems"]


def check_slice(**members: Any) -> list[str]:
    body = {"addressType": "IPv4", "endpoints": [], **members}
    return problems("discovery.k8s.io/v1", "EndpointSlice", **body)


def test_endpoint_slices_are_limited_in_size() -> None:
    endpoints = [{"addresses": ["10.0.0.1"]}] * 1001
    assert check_slice(endpoints=endpoints) == [
        "endpoints: Too many: 1001: must have at most 1000 items"
    ]
    addresses = [f"10.0.1.{number}" for number in range(101)]
    assert check_slice(endpoints=[{"addresses": addresses}]) == [
        "endpoints[0].addresses: Too many: 101: must have at most 100 items"
    ]
    zones = [{"name": f"z{number}"} for number in range(9)]
    hinted = {"addresses": ["10.0.0.1"], "hints": {"forZones": zones}}
    assert check_slice(endpoints=[hinted]) == [
        "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"
    ]


def spec_of(**members: Any) -> dict[str, Any]:
    """The spec of a service that has its address."""
    return {
        "type": "ClusterIP",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"port": 80}],
        **members,
    }


BALANCED = {"type": "LoadBalancer", "loadBalancerClass": "a/b"}
DUAL = {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4", "IPv6"]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            {},
            {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]},
            ['spec.clusterIPs[0]: Invalid value: []string{"10.0.0.2"}: may not change once set'],
        ),
        (
            {},
            {"clusterIP": "", "clusterIPs": []},
            ["spec.clusterIPs[0]: Invalid value: []string{}: primary clusterIP can not be unset"],
        ),
        (
            BALANCED,
            {**BALANCED, "loadBalancerClass": "a/c"},
            ['spec.loadBalancerClass: Invalid value: "a/c": may not change once set'],
        ),
        (
            {**DUAL, "clusterIPs": ["10.0.0.1", "fd00::1"]},
            {**DUAL, "clusterIPs": ["10.0.0.1", "fd00::2"]},
            [
                'spec.clusterIPs[1]: Invalid value: []string{"10.0.0.1", "fd00::2"}: may not change'
                " once set"
            ],
        ),
    ],
)
def test_the_cluster_ip_of_a_service_is_immutable(
    before: dict[str, Any], after: dict[str, Any], expected: list[str]
) -> None:
    old = made("v1", "Service", spec=spec_of(**before))
    assert changes(old, spec=spec_of(**after)) == expected


def test_service_gives_its_address_up_for_a_name() -> None:
    old = made("v1", "Service", spec=spec_of())
    named = {"type": "ExternalName", "externalName": "a.example.org", "ports": [{"port": 80}]}
    assert changes(old, spec=named) == []
