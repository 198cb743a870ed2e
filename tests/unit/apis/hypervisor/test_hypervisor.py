"""Builders and conversion of the hypervisor group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.hypervisor.builders import FleetBuilder
from quarterdeck.apis.hypervisor.conversion import ConversionError, Spoke, convert
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS

API = "hypervisor.hyperfleet.io"


def test_builder_of_the_guide_runs() -> None:
    builder = FleetBuilder("my-fleet", "default").with_replicas(3).with_image("nginx:latest")
    fleet = builder.with_selector({"app": "nginx"}).build()
    assert (fleet.metadata.name, fleet.metadata.namespace) == ("my-fleet", "default")
    assert (fleet.spec.replicas, fleet.spec.image) == (3, "nginx:latest")
    assert fleet.spec.selector == {"app": "nginx"}
    with pytest.raises(AttributeError):
        fleet.spec.replicas = 4  # type: ignore[misc]


def test_every_kind_is_listed_by_its_category() -> None:
    assert {kind.KIND.categories for kind in KINDS} == {("hyperfleet",)}
    assert all(kind.KIND.subresource_status for kind in KINDS)
    scaled = {kind.KIND.kind for kind in KINDS if kind.KIND.scale is not None}
    assert scaled == {"Fleet", "RunnerPool"}


SPOKES = {
    "v1beta1": Spoke(
        to_hub=lambda each: {**each, "spec": {"replicas": each["spec"]["size"]}},
        from_hub=lambda each: {**each, "spec": {"size": each["spec"]["replicas"]}},
    )
}


@given(st.integers(0, 1000))
def test_objects_survive_a_round_trip_through_the_hub(replicas: int) -> None:
    hub = {
        "apiVersion": f"{API}/v1alpha1",
        "kind": "Fleet",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas},
    }
    later = convert(hub, "v1beta1", SPOKES)
    assert later["apiVersion"] == f"{API}/v1beta1"
    assert later["spec"] == {"size": replicas}
    assert convert(later, "v1alpha1", SPOKES) == hub
    assert convert(hub, "v1alpha1") == hub


def test_unknown_versions_and_groups_are_named() -> None:
    with pytest.raises(ConversionError, match="v9"):
        convert({"apiVersion": f"{API}/v1alpha1"}, "v9")
    with pytest.raises(ConversionError, match="apps/v1"):
        convert({"apiVersion": "apps/v1"}, "v1alpha1")
