"""What an Application becomes."""

from typing import Any

import msgspec
import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.apis.applications.v1 import Application, ApplicationSpec
from quarterdeck.apis.apps import Deployment
from quarterdeck.apis.batch import Job
from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.core.containers import ResourceRequirements
from quarterdeck.apis.core.services import Service
from quarterdeck.meta.objects import Object, ObjectMeta, to_builtins
from quarterdeck.operators.applications import plan


def application(name: str = "web", **spec: Any) -> Application:
    document = {"replicas": 2, "image": "nginx:1.27", **spec}
    return Application(
        metadata=ObjectMeta(name=name, namespace="shop", uid="u1"),
        spec=msgspec.convert(document, ApplicationSpec),
    )


def only(kind: type[Object], app: Application) -> Any:
    found = [child for child in plan.plan_children(app) if isinstance(child, kind)]
    assert len(found) == 1
    return found[0]


def kinds(app: Application) -> list[str]:
    return [child.kind for child in plan.plan_children(app)]


def test_smallest_application_is_a_deployment() -> None:
    app = application()
    assert kinds(app) == ["Deployment"]
    deployment = only(Deployment, app)
    assert deployment.key == app.key
    assert deployment.spec.replicas == 2
    assert deployment.spec.strategy.type == "RollingUpdate"
    assert deployment.spec.template.spec.containers[0].image == "nginx:1.27"
    selector = deployment.spec.selector.match_labels
    assert selector == plan.build_selector(app)
    assert selector.items() <= deployment.spec.template.metadata.labels.items()


def test_pull_secrets_and_probes_reach_the_pods() -> None:
    ready = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5}
    alive = {"tcpSocket": {"port": "http"}}
    app = application(
        imagePullSecrets=[{"name": "registry"}],
        readinessProbe=ready,
        livenessProbe=alive,
        startupProbe={"exec": {"command": ["true"]}},
    )
    pod = to_builtins(only(Deployment, app))["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    container = pod["containers"][0]
    assert (container["readinessProbe"], container["livenessProbe"]) == (ready, alive)
    assert container["startupProbe"] == {"exec": {"command": ["true"]}}


def test_config_becomes_a_config_map_environment_and_files() -> None:
    app = application(config={"GREETING": "hello"})
    assert kinds(app) == ["ConfigMap", "Deployment"]
    assert only(ConfigMap, app).data == {"GREETING": "hello"}
    pod = only(Deployment, app).spec.template.spec
    assert pod.containers[0].env_from[0].config_map_ref.name == "web"
    assert pod.containers[0].volume_mounts[0].mount_path == plan.CONFIG_FOLDER
    assert pod.volumes[0].config_map.name == "web"


def test_a_config_change_rolls_the_pods_and_order_does_not() -> None:
    def template(config: dict[str, str]) -> object:
        return only(Deployment, application(config=config)).spec.template

    assert template({"a": "1", "b": "2"}) == template({"b": "2", "a": "1"})
    assert template({"a": "1", "b": "2"}) != template({"a": "1", "b": "3"})


def test_ports_become_a_service_that_leads_to_the_containers() -> None:
    app = application(
        ports=[{"port": 80, "targetPort": 8080}, {"port": 53, "protocol": "UDP", "name": "dns"}]
    )
    service = only(Service, app)
    assert service.spec.selector == plan.build_selector(app)
    assert [(p.name, p.port, p.target_port, p.protocol) for p in service.spec.ports] == [
        ("tcp-80", 80, 8080, "TCP"),
        ("dns", 53, 53, "UDP"),
    ]
    container = only(Deployment, app).spec.template.spec.containers[0]
    assert [(p.container_port, p.protocol) for p in container.ports] == [
        (8080, "TCP"),
        (53, "UDP"),
    ]


def test_two_service_ports_may_share_a_container_port() -> None:
    app = application(ports=[{"port": 80, "targetPort": 80}, {"port": 81, "targetPort": 80}])
    assert len(only(Service, app).spec.ports) == 2
    assert len(only(Deployment, app).spec.template.spec.containers[0].ports) == 1


def test_once_becomes_a_job_with_a_name_of_its_content() -> None:
    first, second = application(runPolicy="Once"), application(runPolicy="Once", image="other")
    assert kinds(first) == ["Job"]
    job = only(Job, first)
    assert (job.spec.completions, job.spec.parallelism) == (2, 2)
    assert job.spec.template.spec.restart_policy == "OnFailure"
    assert only(Job, first).metadata.name == job.metadata.name
    assert only(Job, second).metadata.name != job.metadata.name


def test_resources_are_handed_to_the_container() -> None:
    wanted = {"requests": {"cpu": "50m"}, "limits": {"memory": "1Gi"}}
    container = only(Deployment, application(resources=wanted)).spec.template.spec.containers[0]
    assert to_builtins(container.resources) == wanted


def test_recreate_is_passed_on() -> None:
    assert only(Deployment, application(strategy="Recreate")).spec.strategy.type == "Recreate"


@pytest.mark.parametrize(
    ("name", "is_good"),
    [
        pytest.param("web", True, id="plain"),
        pytest.param("my.app", False, id="dots"),
        pytest.param("1st", False, id="digit first"),
        pytest.param("a" * 64, False, id="too long"),
    ],
)
def test_a_service_needs_a_name_that_services_may_have(name: str, is_good: bool) -> None:
    assert (plan.check_names(application(name, ports=[{"port": 80}])) is None) is is_good
    assert plan.check_names(application(name)) is None


_names = st.from_regex(r"[a-z]([a-z0-9.-]{0,200}[a-z0-9])?", fullmatch=True)


@given(name=_names, config=st.dictionaries(_names, st.text(max_size=5), max_size=3))
@settings(max_examples=count_examples(60), deadline=None)
def test_labels_and_names_fit_whatever_the_application_is_called(
    name: str, config: dict[str, str]
) -> None:
    app = application(name, config=config, runPolicy="Once")
    for child in plan.plan_children(app):
        assert len(child.metadata.name) <= 253
        for value in child.metadata.labels.values():
            assert 0 < len(value) <= 63
            assert value[0].isalnum() and value[-1].isalnum()
    assert len(only(Job, app).metadata.name) <= 63


@given(first=_names, second=_names)
@settings(max_examples=count_examples(60), deadline=None)
def test_two_applications_never_share_their_pods(first: str, second: str) -> None:
    if first != second:
        assert plan.build_label_value(first) != plan.build_label_value(second)


def test_a_name_is_its_label_as_long_as_labels_may_be() -> None:
    assert plan.build_label_value("a" * 63) == "a" * 63
    short = plan.build_label_value("a" * 64)
    assert len(short) == 63
    assert short.startswith("a" * 52 + "-")
    assert short != plan.build_label_value("a" * 65)


def test_the_job_of_a_long_name_is_as_long_as_jobs_may_be() -> None:
    job = only(Job, application("a" * 63, runPolicy="Once"))
    assert len(job.metadata.name) == 63


def test_files_of_the_config_are_read_only_and_resources_are_none_unless_given() -> None:
    container = only(Deployment, application(config={"a": "1"})).spec.template.spec.containers[0]
    assert container.volume_mounts[0].read_only is True
    assert container.resources == ResourceRequirements()
