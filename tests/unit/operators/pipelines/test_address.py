"""Addresses: from settings and Secrets, with every mistake named and no secret shown."""

from typing import Any

import pytest

from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    CredentialsReference,
    FleetConnection,
    FleetConnectionSpec,
)
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.pipelines.address import (
    VARIABLES,
    InvalidAddress,
    build_address,
    find_proxy,
    list_missing_variables,
    normalize_url,
    read_environment,
)


@pytest.mark.parametrize(
    "url",
    [
        "https://fleet.example.com",
        "https://fleet.example.com/",
        "https://fleet.example.com/pipeline.v1.PipelineService/",
        "https://fleet.example.com/pipeline.v1.PipelineService",
        "https://fleet.example.com//collector.v1.CollectorService",
        " https://fleet.example.com ",
    ],
)
def test_an_address_may_be_written_in_many_ways(url: str) -> None:
    assert normalize_url(url) == "https://fleet.example.com"


def test_a_path_before_the_service_stays() -> None:
    assert normalize_url("https://x.io/fleet/pipeline.v1.PipelineService/") == "https://x.io/fleet"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("", "invalid URL"),
        ("fleet.example.com", "invalid URL"),
        ("ftp://x", "invalid URL"),
        ("https://user:hidden@x", "must not contain credentials"),
        ("https://x?a=b", "query"),
        ("http://fleet.example.com", "https"),
        ("https://x:port", "invalid URL"),
        ("http://svc.evil.com", "https"),
    ],
)
def test_a_bad_address_is_named_without_its_secrets(url: str, text: str) -> None:
    with pytest.raises(InvalidAddress, match=text) as caught:
        normalize_url(url)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "[::1]:80", "fleet.ns.svc:80"])
def test_plain_http_is_for_loopback_and_the_cluster(host: str) -> None:
    assert normalize_url(f"http://{host}") == f"http://{host}"


def test_the_environment_needs_all_three() -> None:
    full = dict(zip(VARIABLES, ("https://x.io", "user", "token"), strict=True))
    found = read_environment(full)
    assert found is not None and found.url == "https://x.io"
    assert "token" not in repr(found)
    for name in VARIABLES:
        partial = {**full, name: " "}
        assert read_environment(partial) is None
        assert list_missing_variables(partial) == (name,)
    with pytest.raises(InvalidAddress, match="FLEET_MANAGEMENT_BASE_URL"):
        read_environment({**full, VARIABLES[0]: "nonsense"})


def connection(**spec: Any) -> FleetConnection:
    reference = CredentialsReference(name="creds")
    return FleetConnection(
        metadata=ObjectMeta(name="main", namespace="shop"),
        spec=FleetConnectionSpec(**{"secret_ref": reference, **spec}),
    )


def test_a_secret_may_hold_the_address_too() -> None:
    secret = {"username": b"u", "password": b"p\n", "base-url": b"https://x.io\n"}
    found = build_address(connection(sync_interval="2m"), secret)
    assert (found.name, found.url, found.username) == ("shop/main", "https://x.io", "u")
    assert found.password.reveal() == "p"
    assert found.interval_s == 120.0


@pytest.mark.parametrize(
    ("spec", "secret", "text"),
    [
        ({"url": "https://x"}, None, "Secret 'creds' not found"),
        ({"url": "https://x"}, {"username": b"u"}, "no key 'password'"),
        ({}, {"username": b"u", "password": b"p"}, "no key 'base-url'"),
        ({"url": "https://x"}, {"username": b"\xff", "password": b"p"}, "not UTF-8 text"),
        (
            {"url": "https://x", "timeout": "1x"},
            {"username": b"u", "password": b"p"},
            "spec.timeout",
        ),
    ],
)
def test_what_is_missing_is_named(spec: dict[str, Any], secret: Any, text: str) -> None:
    with pytest.raises(InvalidAddress, match=text):
        build_address(connection(**spec), secret)


@pytest.mark.parametrize(
    ("url", "exceptions", "is_used"),
    [
        pytest.param("https://fleet.example.com", "", True, id="all others"),
        pytest.param("https://fleet.example.com", "example.com", False, id="a domain"),
        pytest.param("https://fleet.example.com", "x.io, .example.com", False, id="with a dot"),
        pytest.param("https://fleet.example.com", "*.example.com:443", False, id="with a star"),
        pytest.param("https://fleet.badexample.com", "example.com", True, id="a longer name"),
        pytest.param("https://fleet.example.com", "*", False, id="everything"),
        pytest.param("http://127.0.0.1", "", False, id="plain HTTP"),
    ],
)
def test_the_proxy_of_the_environment_is_heeded(url: str, exceptions: str, is_used: bool) -> None:
    environment = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": exceptions}
    assert find_proxy(url, environment) == ("http://proxy:3128" if is_used else None)
    assert find_proxy(url, {}) is None
