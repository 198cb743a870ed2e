"""What we print and ship is accepted by a real kube-apiserver."""

from pathlib import Path

import pytest
from real_server import RealServer

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

CONFIG = Path(__file__).parents[3] / "config"
ACCEPTED = {"Established": "True", "NamesAccepted": "True"}


def test_every_manifest_and_sample_is_accepted(real: RealServer) -> None:
    real.install()
    for each in real.items("customresourcedefinitions"):
        conditions = {one["type"]: one["status"] for one in each["status"]["conditions"]}
        assert conditions == ACCEPTED, each["metadata"]["name"]
    real.apply(real.quarterdeck("manifests", "--samples"))


def test_every_definition_passes_strict_validation_and_server_side_apply(real: RealServer) -> None:
    strictly = (
        "apply",
        "--server-side",
        "--force-conflicts",
        "--validate=strict",
        "--dry-run=server",
    )
    printed = real.kubectl(*strictly, "-f", str(CONFIG / "crd" / "bases"))
    assert len(printed.splitlines()) == len(list((CONFIG / "crd" / "bases").glob("*.yaml")))


def test_a_watch_shows_objects_although_others_changed_since(real: RealServer) -> None:
    real.kubectl("create", "namespace", "later")
    printed = real.quarterdeck("watch", "configmaps", "-A", "--count", "1")
    assert printed.startswith("ADDED     ConfigMap kube-system/")
