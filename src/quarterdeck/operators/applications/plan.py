"""Builds the child objects of an Application. Pure.

All of them have the name of the application and its label. A Job cannot be changed, so its name
also has a digest of what it runs: a change creates another Job.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from quarterdeck.apis.applications.v1 import GROUP, Application, ApplicationPort, ResourceAmounts
from quarterdeck.apis.apps import Deployment, DeploymentSpec, DeploymentStrategy
from quarterdeck.apis.batch import Job, JobSpec
from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.core.containers import (
    Container,
    ContainerPort,
    EnvFromSource,
    EnvSource,
    ResourceRequirements,
    VolumeMount,
)
from quarterdeck.apis.core.pods import PodSpec, PodTemplateSpec
from quarterdeck.apis.core.services import Service, ServicePort, ServiceSpec
from quarterdeck.apis.core.volumes import ConfigMapVolumeSource, Volume
from quarterdeck.meta.objects import Object, ObjectMeta
from quarterdeck.meta.selectors import LabelSelector

LABEL = f"{GROUP}/application"
"""Label of all child objects; its value is the name of the application."""
CONFIG_HASH = f"{GROUP}/config-hash"
"""Annotation of pods: a changed configuration changes the template, which rolls the pods."""
MANAGED_BY = "app.kubernetes.io/managed-by"
NAME = "app.kubernetes.io/name"
CONTAINER = "application"
CONFIG_FOLDER = "/etc/config"

_MAX_LABEL = 63
_DIGEST = 10
_MAX_JOB_NAME = 63


class InvalidName(NamedTuple):
    """The reason why the name of a child object is invalid."""

    message: str


def plan_children(app: Application) -> list[Object]:
    """The desired child objects, in the order in which to apply them."""
    found: list[Object] = []
    if app.spec.config:
        found.append(_build_config_map(app))
    found.append(_build_job(app) if app.spec.run_policy == "Once" else _build_deployment(app))
    if app.spec.ports:
        found.append(_build_service(app))
    return found


def build_selector(app: Application) -> dict[str, str]:
    """The label selector of the replicas."""
    return {LABEL: build_label_value(app.metadata.name)}


def build_label_value(name: str) -> str:
    """A name as a label value; a name that is too long is cut and gets a digest."""
    if len(name) <= _MAX_LABEL:
        return name
    return f"{name[: _MAX_LABEL - _DIGEST - 1].rstrip('-.')}-{_digest(name.encode())}"


def check_names(app: Application) -> InvalidName | None:
    """Check that Kubernetes accepts the names of the children; None if it does."""
    name = app.metadata.name
    if app.spec.ports and (len(name) > 63 or "." in name or not name[:1].isalpha()):
        return InvalidName(
            f"spec.ports requires a Service named {name!r}, but the name of a Service has at "
            "most 63 "
            "letters, digits and '-' and starts with a letter: rename the application, "
            "or leave spec.ports out"
        )
    return None


def hash_config(config: Mapping[str, str]) -> str:
    """A digest of the configuration, the same for the same content."""
    return _digest(msgspec.json.encode(sorted(config.items())))


def _build_config_map(app: Application) -> ConfigMap:
    return ConfigMap(metadata=_build_metadata(app), data=app.spec.config)


def _build_deployment(app: Application) -> Deployment:
    return Deployment(
        metadata=_build_metadata(app),
        spec=DeploymentSpec(
            replicas=app.spec.replicas,
            selector=LabelSelector(match_labels=build_selector(app)),
            strategy=DeploymentStrategy(type=app.spec.strategy),
            template=_build_template(app),
        ),
    )


def _build_job(app: Application) -> Job:
    template = _build_template(app, restart_policy="OnFailure")
    content = _digest(msgspec.json.encode((app.spec.replicas, template)))
    name = f"{app.metadata.name[: _MAX_JOB_NAME - _DIGEST - 1].rstrip('-.')}-{content}"
    return Job(
        metadata=_build_metadata(app, name=name),
        spec=JobSpec(
            completions=app.spec.replicas, parallelism=app.spec.replicas, template=template
        ),
    )


def _build_service(app: Application) -> Service:
    ports = tuple(
        ServicePort(
            name=_choose_port_name(port),
            port=port.port,
            protocol=port.protocol,
            target_port=port.target_port or port.port,
        )
        for port in app.spec.ports
    )
    return Service(
        metadata=_build_metadata(app), spec=ServiceSpec(selector=build_selector(app), ports=ports)
    )


def _build_metadata(app: Application, name: str = "") -> ObjectMeta:
    return ObjectMeta(
        name=name or app.metadata.name, namespace=app.metadata.namespace, labels=_build_labels(app)
    )


def _build_labels(app: Application) -> dict[str, str]:
    value = build_label_value(app.metadata.name)
    return {LABEL: value, NAME: value, MANAGED_BY: "quarterdeck"}


def _build_template(app: Application, restart_policy: str = "") -> PodTemplateSpec:
    config = app.spec.config
    annotations = {CONFIG_HASH: hash_config(config)} if config else {}
    volume = Volume(name="config", config_map=ConfigMapVolumeSource(name=app.metadata.name))
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=_build_labels(app), annotations=annotations),
        spec=PodSpec(
            containers=(_build_container(app),),
            volumes=(volume,) if config else (),
            restart_policy=restart_policy,
            image_pull_secrets=app.spec.image_pull_secrets,
        ),
    )


def _build_container(app: Application) -> Container:
    config = app.spec.config
    source = EnvFromSource(config_map_ref=EnvSource(name=app.metadata.name))
    mount = VolumeMount(name="config", mount_path=CONFIG_FOLDER, read_only=True)
    return Container(
        name=CONTAINER,
        image=app.spec.image,
        env_from=(source,) if config else (),
        volume_mounts=(mount,) if config else (),
        ports=_build_container_ports(app),
        resources=_build_resources(app),
        liveness_probe=app.spec.liveness_probe,
        readiness_probe=app.spec.readiness_probe,
        startup_probe=app.spec.startup_probe,
    )


def _build_container_ports(app: Application) -> tuple[ContainerPort, ...]:
    """The container's ports; one for all Service ports with the same target and protocol."""
    targets = {(port.target_port or port.port, port.protocol): port for port in app.spec.ports}
    return tuple(
        ContainerPort(container_port=number, name=_choose_port_name(port), protocol=protocol)
        for (number, protocol), port in targets.items()
    )


def _choose_port_name(port: ApplicationPort) -> str:
    return port.name or f"{port.protocol.lower()}-{port.port}"


def _build_resources(app: Application) -> ResourceRequirements:
    wanted = app.spec.resources
    if wanted is None:
        return ResourceRequirements()
    return ResourceRequirements(
        requests=_format_amounts(wanted.requests), limits=_format_amounts(wanted.limits)
    )


def _format_amounts(amounts: ResourceAmounts | None) -> dict[str, str]:
    if amounts is None:
        return {}
    both = {"cpu": amounts.cpu, "memory": amounts.memory}
    return {name: str(amount) for name, amount in both.items() if amount is not None}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGEST]
