"""Claims find volumes, and volumes follow their claims."""

from collections.abc import Callable
from typing import Any

import pytest

from quarterdeck.server.lifecycle.engine.actions import Create, Delete, Update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.volume_claims import VolumeClaims
from quarterdeck.storage import StoreKey

Object = dict[str, Any]
Look = Callable[..., View]
CLAIM = StoreKey("persistentvolumeclaims", "n", "c")
VOLUME = StoreKey("persistentvolumes", "", "v")


def claim(phase: str = "Pending", **spec: Any) -> Object:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "n", "uid": "u"},
        "spec": {**wanted, **spec},
        "status": {"phase": phase},
    }


def volume(phase: str = "Available", notes: Object | None = None, **spec: Any) -> Object:
    offered = {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": "5Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v", "annotations": notes or {}},
        "spec": {**offered, **spec},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("asks", "offers"),
    [
        pytest.param(claim(storageClassName=""), volume(), id="what fits"),
        pytest.param(claim(volumeName="v"), volume(), id="by name"),
        pytest.param(
            claim(), volume(claimRef={"namespace": "n", "name": "c"}), id="reserved for it"
        ),
    ],
)
def test_claim_takes_a_volume_that_is_there(asks: Object, offers: Object, look: Look) -> None:
    taken, bound = VolumeClaims().plan(look([asks, offers]), CLAIM)
    assert isinstance(taken, Update) and isinstance(bound, Update)
    assert taken.value["spec"]["claimRef"]["uid"] == "u"
    assert taken.value["status"]["phase"] == "Bound"
    assert bound.value["spec"]["volumeName"] == "v"
    assert bound.value["status"]["capacity"] == {"storage": "5Gi"}


@pytest.mark.parametrize(
    "offers",
    [
        pytest.param(volume(capacity={"storage": "1Gi"}), id="too small"),
        pytest.param(volume(accessModes=["ReadOnlyMany"]), id="another mode"),
        pytest.param(volume(storageClassName="fast"), id="another class"),
        pytest.param(volume("Bound", claimRef={"uid": "other"}), id="taken"),
        pytest.param(volume("Released"), id="used"),
    ],
)
def test_claim_without_class_waits_for_a_volume_that_fits(offers: Object, look: Look) -> None:
    assert VolumeClaims().plan(look([claim(storageClassName=""), offers]), CLAIM) == []


def test_claim_with_a_class_gets_a_volume_of_its_own(look: Look) -> None:
    made, bound = VolumeClaims().plan(look([claim(storageClassName="fast")]), CLAIM)
    assert isinstance(made, Create) and isinstance(bound, Update)
    assert made.value["spec"]["capacity"] == {"storage": "2Gi"}
    assert bound.value["spec"]["volumeName"] == made.value["metadata"]["name"] == "pvc-u"


def test_named_volume_that_is_somebody_elses_is_waited_for(look: Look) -> None:
    taken = volume("Bound", claimRef={"uid": "other"})
    assert VolumeClaims().plan(look([claim(volumeName="v"), taken]), CLAIM) == []


MINE = {"namespace": "n", "name": "c", "uid": "u"}
MADE = {"simulate.quarterdeck.dev/provisioner": "true"}


@pytest.mark.parametrize(
    ("objects", "phase"),
    [
        pytest.param([volume("")], "Available", id="new"),
        pytest.param([volume("", claimRef=MINE), claim("Bound")], "Bound", id="claimed"),
        pytest.param([volume("Bound", claimRef=MINE)], "Released", id="its claim is gone"),
    ],
)
def test_the_phase_of_a_volume_follows_its_claim(
    objects: list[Object], phase: str, look: Look
) -> None:
    (changed,) = VolumeClaims().plan(look(objects), VOLUME)
    assert isinstance(changed, Update)
    assert changed.value["status"]["phase"] == phase


def test_volume_that_was_made_for_a_claim_goes_with_it(look: Look) -> None:
    left = volume("Released", MADE, claimRef=MINE, persistentVolumeReclaimPolicy="Delete")
    (gone,) = VolumeClaims().plan(look([left]), VOLUME)
    assert isinstance(gone, Delete)


def test_volume_that_somebody_made_stays(look: Look) -> None:
    left = volume("Released", claimRef=MINE, persistentVolumeReclaimPolicy="Delete")
    assert VolumeClaims().plan(look([left]), VOLUME) == []
