"""Published manifests: definitions are created, everything else is accepted by a dry run.

What kube-apiserver accepts, ours accepts: where KUBE_APISERVER and ETCD name the programs, both
get every object. They come from Go modules, which the module proxy serves; one that cannot be
fetched is named.
`QUARTERDECK_COMPAT_MANIFESTS` names a further folder of YAML files, such as a checkout of the
examples of Kubernetes' documentation.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from real_server import RealServer, running_real_server
from tests.compat.go_suite import fetch_module, find_program

from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, load_config
from quarterdeck.kit import yaml
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.testing import eventually
from quarterdeck.wire.status import ApiError, NotFound

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(1800)]

FOLDER = os.environ.get("QUARTERDECK_COMPAT_MANIFESTS", "")
DEFINITION = "CustomResourceDefinition"
ENOUGH = 0.95
"""The part that must be accepted: folders of examples hold some that are wrong on purpose."""


def read(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")]):
        try:
            documents = list(yaml.load_all(path.read_text(errors="replace")))
        except yaml.YamlError:
            continue  # templates and broken files are nobody's manifests
        for document in documents:
            if isinstance(document, dict) and document.get("kind") and document.get("apiVersion"):
                yield path.name, _fill_in(document)


def _fill_in(document: dict[str, Any]) -> dict[str, Any]:
    """Without the labels that a chart fills in, with a name where the server would choose one."""
    metadata = document.get("metadata") or {}
    labels = metadata.get("labels") or {}
    metadata["labels"] = {key: each for key, each in labels.items() if "{{" not in str(each)}
    metadata.setdefault("name", "example")
    return {**document, "metadata": metadata}


class Source(NamedTuple):
    """Folders of a Go module that hold manifests."""

    module: str
    folders: tuple[str, ...]
    at_least: int
    """How many objects must be accepted, so that a moved folder is noticed."""
    fragments: int = 0
    """How many are pieces for kustomize, which kube-apiserver refuses too."""


SOURCES = [
    Source("k8s.io/sample-controller@v0.32.0", ("artifacts/examples",), 3),
    Source("sigs.k8s.io/gateway-api@v1.2.1", ("config/crd/standard", "examples/standard"), 40),
    Source(
        "github.com/prometheus-operator/prometheus-operator@v0.79.2",
        ("example/prometheus-operator-crd", "example/user-guides", "example/rbac"),
        20,
    ),
    Source("github.com/crossplane/crossplane@v1.18.2", ("cluster/crds",), 10),
    Source("github.com/cert-manager/cert-manager@v1.16.2", ("deploy/crds",), 6),
    Source(
        "github.com/argoproj/argo-workflows/v3@v3.6.2",
        ("manifests/base", "manifests/cluster-install", "examples"),
        150,
        fragments=2,
    ),
    Source(
        "github.com/argoproj/argo-cd/v2@v2.13.2",
        ("manifests/crds", "manifests/base", "examples"),
        40,
        fragments=5,
    ),
]
Found = list[tuple[str, dict[str, Any]]]
DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """One kube-apiserver for all sources; they share no names."""
    with running_real_server(tmp_path_factory.mktemp("real")) as server:
        yield server


@pytest.mark.skipif(not FOLDER, reason="QUARTERDECK_COMPAT_MANIFESTS names no folder of manifests")
async def test_published_examples_are_accepted() -> None:
    answers = await apply_to_ours(list(read(Path(FOLDER))))
    refused = [f"{name}: {message}" for name, message in answers.items() if message]
    assert len(answers) - len(refused) >= ENOUGH * len(answers), "\n".join(refused)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.module))
async def test_manifests_of_a_module_are_accepted(source: Source, tmp_path: Path) -> None:
    answers = await apply_to_ours(await fetch(source, tmp_path))
    refused = {name: message for name, message in answers.items() if message}
    assert len(refused) == source.fragments, refused
    assert len(answers) >= source.at_least, f"{source.module} has its manifests elsewhere now"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.module))
async def test_what_kubernetes_accepts_is_accepted(
    source: Source, real: RealServer, tmp_path: Path
) -> None:
    found = await fetch(source, tmp_path)
    async with Client(load_config(real.kubeconfig)) as client:
        theirs = await apply_all(client, found)
    ours = await apply_to_ours(found)
    refused = {name: ours[name] for name, message in theirs.items() if not message and ours[name]}
    assert refused == {}
    assert sum(not message for message in theirs.values()) >= source.at_least


async def fetch(source: Source, folder: Path) -> Found:
    root = await asyncio.to_thread(fetch_module, find_program("go"), source.module, folder)
    return [each for part in source.folders for each in read(root / part)]


async def apply_to_ours(found: Found) -> dict[str, str]:
    async with Cluster() as cluster:
        return await apply_all(cluster.client, found)


async def apply_all(client: Client, found: Found) -> dict[str, str]:
    """Create definitions, try the rest; why each was refused, empty for what was accepted."""
    definitions = [each for each in found if each[1]["kind"] == DEFINITION]
    answers = {
        describe(name, each): await apply(client, each, dry_run=False) for name, each in definitions
    }
    accepted = {
        each["metadata"]["name"] for name, each in definitions if not answers[describe(name, each)]
    }

    async def are_served() -> bool:
        listed = await client.resource(DEFINITIONS).list()
        return accepted <= {each["metadata"]["name"] for each in listed if is_established(each)}

    await eventually(are_served)
    for name, document in found:
        if document["kind"] != DEFINITION:
            answers[describe(name, document)] = await apply(client, document, dry_run=True)
    return answers


def is_established(definition: dict[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions", ())
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def describe(name: str, document: dict[str, Any]) -> str:
    return f"{name} {document['kind']} {document['metadata']['name']}"


async def apply(client: Client, document: dict[str, Any], *, dry_run: bool) -> str:
    """Why a server refuses an object; empty if it accepts it."""
    try:
        gvk = GVK.of(str(document["apiVersion"]), document["kind"])
        resources, found = await client.discover_resource(gvk)
        metadata = {**document["metadata"], "namespace": "default"}
        if not found.namespaced:
            metadata.pop("namespace")
        await resources.apply(
            {**document, "metadata": metadata}, manager="compat", force=True, dry_run=dry_run
        )
    except NotFound:
        return ""  # a kind of some definition that is not there
    except ApiError as error:
        return f"{error.code} {error.message}"[:300]
    return ""
