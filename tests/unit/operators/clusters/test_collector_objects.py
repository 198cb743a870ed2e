"""What is put on a managed cluster, as plain documents."""

import pytest

from quarterdeck.kit import json
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.clusters.collector_objects import (
    CollectorPlan,
    build_objects,
    choose_image,
    hash_plan,
)

PLAN = CollectorPlan(
    cluster="east", image="collector:1", ingester_address="hub:9443", token=Secret("qdc_t")
)


def replace(**changes: object) -> CollectorPlan:
    fields = {name: getattr(PLAN, name) for name in CollectorPlan.__struct_fields__}
    return CollectorPlan(**{**fields, **changes})


@pytest.mark.parametrize(
    ("image", "version", "default", "expected"),
    [
        ("collector", "", "0.1.0", "collector:0.1.0"),
        ("collector", "", "dev", "collector:latest"),
        ("collector", "", "", "collector:latest"),
        ("host:5000/team/collector", "", "0.1.0", "host:5000/team/collector:0.1.0"),
        ("host:5000/collector:1", "", "0.1.0", "host:5000/collector:1"),
        ("host:5000/collector:1", "2", "0.1.0", "host:5000/collector:2"),
        ("collector@sha256:abc", "", "0.1.0", "collector@sha256:abc"),
        ("collector:1@sha256:abc", "2", "0.1.0", "collector:2"),
    ],
)
def test_the_version_of_a_cluster_becomes_the_tag(
    image: str, version: str, default: str, expected: str
) -> None:
    assert choose_image(image, version, default=default) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"image": "collector:2"},
        {"ingester_address": "other:9443"},
        {"authority": "PEM"},
        {"server_name": "hub.svc"},
        {"tls": False},
        {"client_secret": "identity"},
        {"interval_s": 60},
        {"sources": (GVR("batch", "v1", "jobs"),)},
    ],
)
def test_every_change_of_a_plan_changes_its_hash(change: dict[str, object]) -> None:
    assert hash_plan(replace(**change)) != hash_plan(PLAN)


def test_a_hash_does_not_depend_on_the_token() -> None:
    assert hash_plan(replace(token=Secret("qdc_other"))) == hash_plan(PLAN)


def test_a_new_token_starts_the_pods_anew_and_is_in_the_secret_only() -> None:
    before, after = build_objects(PLAN), build_objects(replace(token=Secret("qdc_other")))
    changed = [b["kind"] for a, b in zip(before, after, strict=True) if a != b]
    assert changed == ["Secret", "Deployment"]
    assert "qdc_other" not in json.encode(after).decode()


def test_without_tls_nothing_of_it_is_mounted() -> None:
    documents = build_objects(replace(tls=False, authority="PEM", client_secret="identity"))
    assert [each["kind"] for each in documents if each["kind"] == "ConfigMap"] == []
    [container] = documents[-1]["spec"]["template"]["spec"]["containers"]
    names = {each["name"] for each in container["env"]}
    assert names & {"INGESTER_TLS_CA", "INGESTER_TLS_CLIENT_CERT"} == set()
    assert [each["name"] for each in container["volumeMounts"]] == ["buffer"]


def test_a_client_certificate_is_mounted_where_the_variables_say() -> None:
    documents = build_objects(replace(client_secret="identity"))
    spec = documents[-1]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    values = {each["name"]: each.get("value", "") for each in container["env"]}
    [mount] = [each for each in container["volumeMounts"] if each["name"] == "collector-tls"]
    assert values["INGESTER_TLS_CLIENT_CERT"] == f"{mount['mountPath']}/tls.crt"
    assert values["INGESTER_TLS_CLIENT_KEY"] == f"{mount['mountPath']}/tls.key"
    assert {"name": "collector-tls", "secret": {"secretName": "identity"}} in spec["volumes"]
