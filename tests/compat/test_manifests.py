"""Published example manifests: nearly every one is accepted by a dry run.

`QUARTERDECK_COMPAT_MANIFESTS` names a folder of YAML files, such as a checkout of the examples of
Kubernetes' documentation.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http, yaml
from quarterdeck.kit import json as kit_json
from quarterdeck.meta.identity import GroupVersion

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(1800)]

FOLDER = os.environ.get("QUARTERDECK_COMPAT_MANIFESTS", "")
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


@pytest.mark.skipif(not FOLDER, reason="QUARTERDECK_COMPAT_MANIFESTS names no folder of manifests")
async def test_published_examples_are_accepted() -> None:
    accepted, refused = 0, Counter[str]()
    async with Cluster() as cluster, http.Client() as client:
        for name, document in read(Path(FOLDER)):
            resource = _find_resource(cluster, document)
            if resource is None:
                continue  # a kind of some definition that is not there
            group, version = resource.gvr.group, resource.gvr.version
            base = f"/apis/{group}/{version}" if group else f"/api/{version}"
            metadata = document.setdefault("metadata", {})
            metadata.setdefault("name", "example")
            if resource.namespaced:
                metadata["namespace"] = "default"
                base += "/namespaces/default"
            answer = await client.request(
                "PATCH",
                f"{cluster.url}{base}/{resource.gvr.resource}/{metadata['name']}"
                "?fieldManager=compat&force=true&dryRun=All",
                headers=[("Content-Type", "application/apply-patch+yaml")],
                body=kit_json.encode(document),
            )
            text = await answer.read()
            if answer.status < 300:
                accepted += 1
            else:
                refused[f"{name}: {kit_json.decode(text).get('message', '')[:200]}"] += 1
    assert accepted >= ENOUGH * (accepted + refused.total()), "\n".join(refused)


def _find_resource(cluster: Cluster, document: dict[str, Any]) -> Any:
    version = GroupVersion.parse(str(document["apiVersion"]))
    for each in cluster.api.core.registry:
        if (each.gvr.group, each.gvr.version) == version and each.kind == document["kind"]:
            return each
    return None
