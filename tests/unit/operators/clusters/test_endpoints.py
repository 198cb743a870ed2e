"""Addresses that users give, and the entry of a Docker configuration that belongs to one."""

import base64
import json

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import RegistryConnection
from quarterdeck.operators.clusters.endpoints import (
    find_endpoint_problem,
    find_path_problem,
    hide_credentials,
)
from quarterdeck.operators.clusters.registry_connection import build_spec, read_credentials


@pytest.mark.parametrize(
    "url", ["https://c:6443", "http://127.0.0.1:1/path/", "https://[::1]:6443", "https://bücher.de"]
)
def test_address_that_can_be_used_has_no_problem(url: str) -> None:
    assert find_endpoint_problem(url) == ""


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("c:6443", "'c:6443' is not a URL; write https://HOST:PORT"),
        ("ftp://c", "is not a URL"),
        ("https://", "has no host"),
        ("https://c:99999", "Port out of range"),
        ("https://c:0", "the port must be at least 1, got 0"),
        ("https://c:x", "Port could not be cast"),
        ("https://c?token=hunter2", "contains a query or a fragment; write https://HOST:PORT"),
        ("https://c/#hunter2", "contains a query or a fragment"),
        ("https://a b", "contains a space"),
        ("https://a\nb", "contains a space or a control character"),
        ("https://user:hunter2@c", "contains a user name or password; put them into the Secret"),
    ],
)
def test_problem_of_an_address_names_the_field(url: str, text: str) -> None:
    found = find_endpoint_problem(url)
    assert found.startswith("spec.endpoint ")
    assert text in found
    assert "hunter2" not in found


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://c:6443/path", "https://c:6443/path"),
        ("registry.example.com/", "registry.example.com/"),
        ("https://user:hunter2@c:6443", "https://***@c:6443"),
        ("https://hunter2@c", "https://***@c"),
        ("user:hunter2@registry.example.com", "***@registry.example.com"),
        ("https://c/v2?token=hunter2#hunter2", "https://c/v2"),
        ("https://c?token=hunter2", "https://c"),
    ],
)
def test_viewers_of_the_hub_see_an_address_without_credentials(url: str, shown: str) -> None:
    assert hide_credentials(url) == shown


def test_password_of_a_registry_address_is_not_stored() -> None:
    manifest = {
        "apiVersion": "clusterpulse.io/v1alpha1",
        "kind": "RegistryConnection",
        "metadata": {"name": "r", "namespace": "default"},
        "spec": {"endpoint": "https://user:hunter2@r", "displayName": "R"},
    }
    found = build_spec(msgspec.convert(manifest, RegistryConnection))
    assert found.endpoint == "https://***@r"


def test_health_check_path_is_on_the_registry() -> None:
    assert find_path_problem(("/v2/", "healthz")) == ""
    assert "spec.healthCheckPaths[1] 'http://x/'" in find_path_problem(("/v2/", "http://x/"))
    assert "spec.healthCheckPaths[0] '//x/'" in find_path_problem(("//x/",))
    for path in ("/a b", "/ü", "/a\n"):
        assert find_path_problem(("/v2/", path)) == (
            f"spec.healthCheckPaths[1] {path!r} has characters that must be percent-escaped"
        )


def _docker_config(**entries: dict[str, str]) -> dict[str, bytes]:
    named = {name.replace("_", "."): entry for name, entry in entries.items()}
    return {".dockerconfigjson": json.dumps({"auths": named}).encode()}


def test_docker_password_is_for_one_host_alone() -> None:
    values = _docker_config(example_com={"username": "u", "password": "p"})
    assert read_credentials(values, "https://example.com") == ("u", "p")
    assert read_credentials(values, "https://EXAMPLE.com/v2") == ("u", "p")
    assert read_credentials(values, "https://registry.example.com") == ("", "")
    assert read_credentials(values, "https://example.com.attacker.org") == ("", "")
    assert read_credentials(values, "https://example.com:5000") == ("", "")


def test_docker_login_writes_only_auth() -> None:
    pair = base64.b64encode(b"u:p:q").decode()
    entry = {"https://index.docker.io/v1/": {"auth": pair}}
    values = {".dockerconfigjson": json.dumps({"auths": entry}).encode()}
    assert read_credentials(values, "https://registry-1.docker.io") == ("u", "p:q")
    assert read_credentials(_docker_config(c={"auth": "%"}), "https://c") == ("", "")
