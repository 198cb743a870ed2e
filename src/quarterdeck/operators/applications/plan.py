"""From an Application to the objects that make it real. Pure.

Everything is named after the application and carries its label. A Job cannot be changed, so its
name carries a digest of what it runs: another content is another Job.
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
"""On everything made for an application; its value names the application."""
CONFIG_HASH = f"{GROUP}/config-hash"
"""On pods: another configuration is another template, which rolls them."""
MANAGED_BY = "app.kubernetes.io/managed-by"
NAME = "app.kubernetes.io/name"
CONTAINER = "application"
CONFIG_FOLDER = "/etc/config"

_MAX_LABEL = 63
_DIGEST = 10
_MAX_JOB_NAME = 63


class BadName(NamedTuple):
    """Why a child cannot have the name it would need."""

    message: str


def children(app: Application) -> list[Object]:
    """What should exist, in the order in which to apply it."""
    found: list[Object] = []
    if app.spec.config:
        found.append(_config_map(app))
    found.append(_job(app) if app.spec.run_policy == "Once" else _deployment(app))
    if app.spec.ports:
        found.append(_service(app))
    return found


def selector(app: Application) -> dict[str, str]:
    """The labels by which the replicas are found."""
    return {LABEL: label_value(app.metadata.name)}


def label_value(name: str) -> str:
    """A name as a label value: those are shorter, so a long name keeps its start and a digest."""
    if len(name) <= _MAX_LABEL:
        return name
    return f"{name[: _MAX_LABEL - _DIGEST - 1].rstrip('-.')}-{_digest(name.encode())}"


def check_names(app: Application) -> BadName | None:
    """Whether Kubernetes would accept the names of the children."""
    name = app.metadata.name
    if app.spec.ports and (len(name) > 63 or "." in name or not name[:1].isalpha()):
        return BadName(
            f"spec.ports requires a Service named {name!r}, but the name of a Service has at "
            "most 63 "
            "letters, digits and '-' and starts with a letter: rename the application, "
            "or leave spec.ports out"
        )
    return None


def config_hash(config: Mapping[str, str]) -> str:
    """A digest of the configuration, the same for the same content."""
    return _digest(msgspec.json.encode(sorted(config.items())))


def _config_map(app: Application) -> ConfigMap:
    return ConfigMap(metadata=_metadata(app), data=app.spec.config)


def _deployment(app: Application) -> Deployment:
    return Deployment(
        metadata=_metadata(app),
        spec=DeploymentSpec(
            replicas=app.spec.replicas,
            selector=LabelSelector(match_labels=selector(app)),
            strategy=DeploymentStrategy(type=app.spec.strategy),
            template=_template(app),
        ),
    )


def _job(app: Application) -> Job:
    template = _template(app, restart_policy="OnFailure")
    content = _digest(msgspec.json.encode((app.spec.replicas, template)))
    name = f"{app.metadata.name[: _MAX_JOB_NAME - _DIGEST - 1].rstrip('-.')}-{content}"
    return Job(
        metadata=_metadata(app, name=name),
        spec=JobSpec(
            completions=app.spec.replicas, parallelism=app.spec.replicas, template=template
        ),
    )


def _service(app: Application) -> Service:
    ports = tuple(
        ServicePort(
            name=_port_name(port),
            port=port.port,
            protocol=port.protocol,
            target_port=port.target_port or port.port,
        )
        for port in app.spec.ports
    )
    return Service(metadata=_metadata(app), spec=ServiceSpec(selector=selector(app), ports=ports))


def _metadata(app: Application, name: str = "") -> ObjectMeta:
    return ObjectMeta(
        name=name or app.metadata.name, namespace=app.metadata.namespace, labels=_labels(app)
    )


def _labels(app: Application) -> dict[str, str]:
    value = label_value(app.metadata.name)
    return {LABEL: value, NAME: value, MANAGED_BY: "quarterdeck"}


def _template(app: Application, restart_policy: str = "") -> PodTemplateSpec:
    config = app.spec.config
    annotations = {CONFIG_HASH: config_hash(config)} if config else {}
    volume = Volume(name="config", config_map=ConfigMapVolumeSource(name=app.metadata.name))
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=_labels(app), annotations=annotations),
        spec=PodSpec(
            containers=(_container(app),),
            volumes=(volume,) if config else (),
            restart_policy=restart_policy,
            image_pull_secrets=app.spec.image_pull_secrets,
        ),
    )


def _container(app: Application) -> Container:
    config = app.spec.config
    source = EnvFromSource(config_map_ref=EnvSource(name=app.metadata.name))
    mount = VolumeMount(name="config", mount_path=CONFIG_FOLDER, read_only=True)
    return Container(
        name=CONTAINER,
        image=app.spec.image,
        env_from=(source,) if config else (),
        volume_mounts=(mount,) if config else (),
        ports=_container_ports(app),
        resources=_resources(app),
        liveness_probe=app.spec.liveness_probe,
        readiness_probe=app.spec.readiness_probe,
        startup_probe=app.spec.startup_probe,
    )


def _container_ports(app: Application) -> tuple[ContainerPort, ...]:
    """Several ports of the Service may lead to one of the container."""
    targets = {(port.target_port or port.port, port.protocol): port for port in app.spec.ports}
    return tuple(
        ContainerPort(container_port=number, name=_port_name(port), protocol=protocol)
        for (number, protocol), port in targets.items()
    )


def _port_name(port: ApplicationPort) -> str:
    return port.name or f"{port.protocol.lower()}-{port.port}"


def _resources(app: Application) -> ResourceRequirements:
    wanted = app.spec.resources
    if wanted is None:
        return ResourceRequirements()
    return ResourceRequirements(requests=_amounts(wanted.requests), limits=_amounts(wanted.limits))


def _amounts(amounts: ResourceAmounts | None) -> dict[str, str]:
    if amounts is None:
        return {}
    both = {"cpu": amounts.cpu, "memory": amounts.memory}
    return {name: str(amount) for name, amount in both.items() if amount is not None}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGEST]
