"""Published manifests: definitions are created, everything else is accepted by a dry run.

They come from Go modules, which the module proxy serves; one that cannot be fetched is named.
`QUARTERDECK_COMPAT_MANIFESTS` names a further folder of YAML files, such as a checkout of the
examples of Kubernetes' documentation.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.compat.go_suite import fetch_module, find_program

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http, yaml
from quarterdeck.kit import json as kit_json
from quarterdeck.meta.identity import GroupVersion

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
                yield path.name, document


class Source(NamedTuple):
    """Folders of a Go module that hold manifests."""

    module: str
    folders: tuple[str, ...]
    at_least: int
    """How many objects must be accepted, so that a moved folder is noticed."""


SOURCES = [
    Source("k8s.io/sample-controller@v0.32.0", ("artifacts/examples",), 3),
    Source("sigs.k8s.io/gateway-api@v1.2.1", ("config/crd/standard", "examples/standard"), 40),
    Source(
        "github.com/prometheus-operator/prometheus-operator@v0.79.2",
        ("example/prometheus-operator-crd", "example/user-guides", "example/rbac"),
        20,
    ),
    Source("github.com/crossplane/crossplane@v1.18.2", ("cluster/crds",), 10),
]


@pytest.mark.skipif(not FOLDER, reason="QUARTERDECK_COMPAT_MANIFESTS names no folder of manifests")
async def test_published_examples_are_accepted() -> None:
    accepted, refused = await apply_all(list(read(Path(FOLDER))))
    assert accepted >= ENOUGH * (accepted + len(refused)), "\n".join(refused)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.module))
async def test_manifests_of_a_module_are_accepted(source: Source, tmp_path: Path) -> None:
    root = await asyncio.to_thread(fetch_module, find_program("go"), source.module, tmp_path)
    found = [each for folder in source.folders for each in read(root / folder)]
    accepted, refused = await apply_all(found)
    assert refused == []
    assert accepted >= source.at_least, f"{source.module} has its manifests elsewhere now"


async def apply_all(found: list[tuple[str, dict[str, Any]]]) -> tuple[int, list[str]]:
    """Create definitions, try the rest; how many were accepted, and what was refused and why."""
    accepted, refused = 0, list[str]()
    async with Cluster() as cluster, http.Client() as client:
        for name, document in sorted(found, key=lambda each: each[1]["kind"] != DEFINITION):
            resource = _find_resource(cluster, document)
            if resource is None:
                continue  # a kind of some definition that is not there
            status, message = await _apply(cluster, client, resource, document)
            if status < 300:
                accepted += 1
            else:
                refused.append(f"{name}: {message[:300]}")
    return accepted, refused


async def _apply(
    cluster: Cluster, client: http.Client, resource: Any, document: dict[str, Any]
) -> tuple[int, str]:
    group, version = resource.gvr.group, resource.gvr.version
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    metadata = document.setdefault("metadata", {})
    metadata.setdefault("name", "example")
    if resource.namespaced:
        metadata["namespace"] = "default"
        base += "/namespaces/default"
    dry_run = "" if document["kind"] == DEFINITION else "&dryRun=All"
    answer = await client.request(
        "PATCH",
        f"{cluster.url}{base}/{resource.gvr.resource}/{metadata['name']}"
        f"?fieldManager=compat&force=true{dry_run}",
        headers=[("Content-Type", "application/apply-patch+yaml")],
        body=kit_json.encode(document),
    )
    body = kit_json.decode(await answer.read())
    return answer.status, str(body.get("message", ""))


def _find_resource(cluster: Cluster, document: dict[str, Any]) -> Any:
    version = GroupVersion.parse(str(document["apiVersion"]))
    for each in cluster.api.core.registry:
        if (each.gvr.group, each.gvr.version) == version and each.kind == document["kind"]:
            return each
    return None
