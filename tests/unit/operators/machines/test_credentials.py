"""Credentials of hypervisors: which pair is read, and what is named if something is missing."""

from typing import Any

import pytest

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.references import SecretKeySelector
from quarterdeck.kit import json
from quarterdeck.meta.objects import ObjectMeta, decode
from quarterdeck.operators.machines.connections import (
    CredentialsMissing,
    SecretReader,
    read_access,
)
from quarterdeck.operators.machines.machine import AccessData
from quarterdeck.wire.status import NotFound

DATA = {"id": "cm9vdEBwYW0h", "secret": "aHVudGVyMg==", "binary": "//8=", "empty": ""}


async def get_secret(kind: type[Secret], name: str, namespace: str) -> Secret:
    if (name, namespace) != ("pve", "lab"):
        raise NotFound(f"secrets {name!r} not found")
    metadata = ObjectMeta(name=name, namespace=namespace, uid="u", resource_version="7")
    return Secret(metadata=metadata, data=DATA)


def reader() -> SecretReader:
    return SecretReader("lab", get_secret)


def select(key: str, **more: Any) -> dict[str, Any]:
    return {"name": "pve", "key": key, **more}


def build_cluster(provider: str = "proxmox", **spec: Any) -> HypervisorCluster:
    document = {
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "HypervisorCluster",
        "metadata": {"name": "a", "namespace": "lab"},
        "spec": {
            "provider": provider,
            "endpoint": "https://pve.example.com:8006",
            "nodes": ["a"],
            "defaultStorage": "s",
            "defaultNetwork": "n",
            **spec,
        },
    }
    return decode(HypervisorCluster, json.encode(document))


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param(
            SecretKeySelector(name="pve", key="id", namespace="kube-system"),
            "Secret kube-system/pve is in another namespace; copy it to lab",
            id="another namespace",
        ),
        pytest.param(SecretKeySelector(name="no", key="id"), "Secret lab/no not found", id="gone"),
        pytest.param(SecretKeySelector(name="pve", key="no"), "has no key 'no'", id="key"),
        pytest.param(
            SecretKeySelector(name="pve", key="binary"),
            "key 'binary' of Secret lab/pve is not UTF-8 text",
            id="not text",
        ),
    ],
)
async def test_what_is_missing_is_named(selector: SecretKeySelector, message: str) -> None:
    with pytest.raises(CredentialsMissing, match=message):
        await reader().read(selector)


async def test_optional_values_may_be_missing() -> None:
    secrets = reader()
    assert await secrets.read(SecretKeySelector(name="no", key="id", optional=True)) == ""
    assert secrets.fingerprint == ""
    assert await secrets.read(SecretKeySelector(name="pve", key="no", optional=True)) == ""
    assert secrets.fingerprint != ""


async def test_the_first_complete_pair_is_used() -> None:
    token = {"tokenId": select("id"), "tokenSecret": select("secret")}
    user = {"username": select("id"), "password": select("secret")}
    certificate = {"clientCert": select("id"), "clientKey": select("secret")}
    read = await read_access(build_cluster(credentials={**token, **user}), reader())
    assert (read.token_id, read.token_secret.reveal(), read.username) == (
        "root@pam!",
        "hunter2",
        "",
    )
    half = {**user, **certificate, "tokenId": select("id")}
    read = await read_access(build_cluster(credentials=half), reader())
    assert (read.token_id, read.username, read.password.reveal()) == ("", "root@pam!", "hunter2")
    read = await read_access(build_cluster(credentials=certificate), reader())
    assert (read.client_cert, read.client_key.reveal()) == ("root@pam!", "hunter2")
    assert "hunter2" not in repr(read)


@pytest.mark.parametrize(
    "missing",
    [
        pytest.param({"name": "no"}, id="no Secret"),
        pytest.param({"key": "no"}, id="no key"),
        pytest.param({"key": "empty"}, id="empty"),
    ],
)
async def test_a_pair_without_a_value_is_not_complete(missing: dict[str, str]) -> None:
    absent = {**select("secret", optional=True), **missing}
    token = {"tokenId": select("id"), "tokenSecret": absent}
    user = {"username": select("id"), "password": select("secret")}
    read = await read_access(build_cluster(credentials={**token, **user}), reader())
    assert (read.token_id, read.username, read.password.reveal()) == ("", "root@pam!", "hunter2")
    with pytest.raises(CredentialsMissing) as caught:
        await read_access(build_cluster(credentials=token), reader())
    assert str(caught.value) == (
        "no valid credential configuration: spec.credentials.tokenSecret has no value "
        f"(Secret {absent['name']}, key {absent['key']!r}); set a value in the Secret, or "
        "complete another pair in spec.credentials"
    )
    assert await read_access(build_cluster("mock", credentials=token), reader()) == AccessData()


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        pytest.param({}, "set spec.credentials.tokenId and tokenSecret", id="none"),
        pytest.param(
            {"credentials": {"tokenId": select("id"), "password": select("secret")}},
            "neither tokenId and tokenSecret nor username and password are complete",
            id="halves",
        ),
    ],
)
async def test_incomplete_credentials_are_refused(
    credentials: dict[str, Any], message: str
) -> None:
    with pytest.raises(CredentialsMissing, match=message):
        await read_access(build_cluster(**credentials), reader())


async def test_simulated_hypervisors_need_no_credentials() -> None:
    read = await read_access(build_cluster("mock"), reader())
    assert read.token_id == read.username == read.client_cert == ""
