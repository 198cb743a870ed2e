import pytest

from quarterdeck.apis.applications.builders import ApplicationBuilder
from quarterdeck.apis.applications.v1 import (
    Application,
    ApplicationPort,
    ApplicationResources,
    ApplicationSpec,
    ApplicationStatus,
    ResourceAmounts,
)
from quarterdeck.apis.builders.core import ConfigMapBuilder, NamespaceBuilder
from quarterdeck.apis.builders.rbac import ClusterRoleBuilder
from quarterdeck.apis.core import ConfigMap
from quarterdeck.apis.fleetmanagement.builders import PipelineBuilder
from quarterdeck.meta.builder import BuildError
from quarterdeck.meta.objects import ObjectMeta, get_raw


def app() -> ApplicationBuilder:
    return ApplicationBuilder("my-app", "default").with_replicas(3).with_image("nginx:latest")


def test_a_builder_makes_the_object() -> None:
    assert app().build() == Application(
        metadata=ObjectMeta(name="my-app", namespace="default"),
        spec=ApplicationSpec(replicas=3, image="nginx:latest"),
    )
    assert get_raw(app().build()) is None


def test_steps_do_not_change_the_builder_they_start_from() -> None:
    template = app()
    template.with_replicas(7)
    template.with_labels({"a": "b"})
    assert template.build().spec.replicas == 3
    assert template.build().metadata.labels == {}


def test_a_builder_cannot_be_assigned_to() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        app().replicas = 3  # type: ignore[attr-defined]


def test_apply_holds_only_what_was_set() -> None:
    assert app().with_labels({"a": "b"}).with_labels({"c": "d"}).to_apply() == {
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": {"name": "my-app", "namespace": "default", "labels": {"a": "b", "c": "d"}},
        "spec": {"replicas": 3, "image": "nginx:latest"},
    }


def test_a_default_that_was_set_is_applied() -> None:
    pipeline = PipelineBuilder("p", "default").with_enabled(True).with_matchers("a=b", "c=d")
    assert pipeline.to_apply()["spec"] == {"enabled": True, "matchers": ["a=b", "c=d"]}


def test_nested_structs_are_accepted() -> None:
    built = (
        app()
        .with_ports(ApplicationPort(port=80, target_port=8080), ApplicationPort(port=443))
        .with_resources(ApplicationResources(limits=ResourceAmounts(cpu=1, memory="1Gi")))
        .with_status(ApplicationStatus(phase="Running"))
        .build()
    )
    assert [port.port for port in built.spec.ports] == [80, 443]
    assert built.spec.resources == ApplicationResources(limits=ResourceAmounts(cpu=1, memory="1Gi"))
    assert built.status.phase == "Running"


@pytest.mark.parametrize(
    ("builder", "field"),
    [
        pytest.param(ApplicationBuilder("a", "b").with_replicas(1), "spec.image", id="missing"),
        pytest.param(ApplicationBuilder("a", "b"), "spec.replicas", id="nothing set"),
        pytest.param(app().with_replicas(101), "spec.replicas", id="too many"),
        pytest.param(app().with_image(""), "spec.image", id="too short"),
        pytest.param(
            app().with_strategy("Blue"),  # type: ignore[arg-type]
            "spec.strategy",
            id="not in the enumeration",
        ),
        pytest.param(
            app().with_replicas("3"),  # type: ignore[arg-type]
            "spec.replicas",
            id="wrong type",
        ),
        pytest.param(
            app().with_ports(ApplicationPort(port=80), ApplicationPort(port=80)),
            "spec.ports[1]",
            id="doubled key",
        ),
        pytest.param(app().with_ports(ApplicationPort(port=0)), "spec.ports[0].port", id="nested"),
        pytest.param(
            ApplicationBuilder("My_App", "b").with_replicas(1).with_image("x"),
            "metadata.name",
            id="name",
        ),
        pytest.param(
            ApplicationBuilder("a", "B").with_replicas(1).with_image("x"),
            "metadata.namespace",
            id="namespace",
        ),
        pytest.param(app().with_labels({"a": "b c"}), "metadata.labels", id="label value"),
        pytest.param(app().with_labels({"/": "b"}), "metadata.labels", id="label key"),
        pytest.param(
            app().with_annotations({"a/b/c": ""}), "metadata.annotations", id="annotation"
        ),
    ],
)
def test_building_names_the_bad_field(builder: ApplicationBuilder, field: str) -> None:
    with pytest.raises(BuildError) as caught:
        builder.build()
    assert field in {error.field for error in caught.value.errors}
    assert field in str(caught.value)
    assert str(caught.value).startswith("Application ")


def test_owners_and_finalizers_are_set() -> None:
    owner = app().build()
    built = ConfigMapBuilder("c", "default").with_owner(owner).with_finalizers("x/y").build()
    assert built.metadata.finalizers == ("x/y",)
    (reference,) = built.metadata.owner_references
    assert (reference.kind, reference.name, reference.controller) == ("Application", "my-app", True)


def test_kinds_without_spec_have_their_members() -> None:
    built = ConfigMapBuilder("c", "default").with_data({"a": "b"}).build()
    assert built == ConfigMap(metadata=ObjectMeta(name="c", namespace="default"), data={"a": "b"})


def test_cluster_scoped_kinds_have_no_namespace() -> None:
    assert NamespaceBuilder("shop").build().metadata.namespace == ""
    with pytest.raises(TypeError):
        NamespaceBuilder("shop", "default")  # type: ignore[call-arg]


def test_roles_may_have_colons() -> None:
    assert ClusterRoleBuilder("system:node").build().metadata.name == "system:node"


def test_a_builder_shows_what_it_builds() -> None:
    assert repr(app()) == "ApplicationBuilder(default/my-app)"
