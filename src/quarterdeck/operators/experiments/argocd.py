"""Objects of Argo CD: the Secret that registers a cluster, and Applications. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from quarterdeck.apis.experiments.status import Layer, TargetStatus
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.apis.experiments.v1alpha1 import GROUP, Experiment
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.components import Resolved, build_sources
from quarterdeck.operators.experiments.kubeconfig import Connection
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.operators.experiments.substitution import Scope

IN_CLUSTER = "https://kubernetes.default.svc"
RESOURCES_FINALIZER = "resources-finalizer.argocd.argoproj.io"
DIGEST = f"{GROUP}/digest"
"""Annotation of our Secrets with a digest of their data, which shows changes without reading it."""
LAYERS: tuple[Layer, ...] = ("infra", "obs", "workload")
_RETRY = {"limit": 5, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "3m"}}
_NAMESPACE_LABELS = {
    "pod-security.kubernetes.io/enforce": "privileged",
    "pod-security.kubernetes.io/enforce-version": "latest",
}


def build_cluster_secret(
    experiment: Experiment, target: str, cluster: str, connection: Connection, *, namespace: str
) -> dict[str, Any]:
    """The Secret that registers a cluster with Argo CD."""
    data = {
        "name": cluster,
        "server": connection.server,
        "config": msgspec.json.encode(_build_config(connection), order="sorted").decode(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": naming.build_cluster_secret_name(cluster),
            "namespace": namespace,
            "labels": {
                **naming.build_labels(experiment, target=target),
                "argocd.argoproj.io/secret-type": "cluster",
                naming.LABEL_CLUSTER: cluster,
            },
            "annotations": {DIGEST: compute_digest(data)},
        },
        "type": "Opaque",
        "stringData": data,
    }


def _build_config(connection: Connection) -> dict[str, Any]:
    tls: dict[str, Any] = {
        "caData": "" if connection.insecure else connection.ca_data,
        "certData": connection.cert_data,
        "keyData": connection.key_data,
        "serverName": connection.server_name,
    }
    config: dict[str, Any] = {
        "bearerToken": connection.token,
        "username": connection.username,
        "password": connection.password,
    }
    given = {name: value for name, value in tls.items() if value}
    return {
        **{name: value for name, value in config.items() if value},
        "tlsClientConfig": {**given, "insecure": connection.insecure},
    }


def compute_digest(data: Mapping[str, str]) -> str:
    """A digest of a Secret's contents."""
    return hashlib.sha256(msgspec.json.encode(data, order="sorted")).hexdigest()[:32]


class App(NamedTuple):
    """A planned Application, before references are replaced."""

    name: str
    layer: Layer
    components: tuple[Resolved, ...]
    params: Mapping[str, Mapping[str, str]]
    """Parameters of each component."""


def plan_apps(experiment: Experiment, target: Target, status: TargetStatus) -> list[App]:
    """The Applications of a target, in the order of layers and of the spec.

    Components are those recorded when the run began, not the current ones. Applications that
    another operator created keep their division.
    """
    mode = status.adopted_applications or target.applications
    recorded = sorted(status.resolved_components, key=lambda each: LAYERS.index(each.layer))
    found: list[App] = []
    for each in recorded:
        component = Resolved(
            each.name,
            each.kind,
            each.origin,
            each.sources,
            each.parameters,
            each.generation,
            each.layer,
        )
        if not component.sources:
            continue
        params = {each.name: each.params}
        if mode == "PerComponent":
            name = naming.build_application_name(experiment, target.name, each.name)
            found.append(App(name, each.layer, (component,), params))
        elif found and (mode == "Single" or found[-1].layer == each.layer):
            last = found[-1]
            found[-1] = last._replace(
                components=(*last.components, component), params={**last.params, **params}
            )
        else:
            layered = mode != "Single" and any(other.layer != "workload" for other in recorded)
            part = each.layer if layered else ""
            name = naming.build_application_name(experiment, target.name, part)
            found.append(App(name, each.layer, (component,), params))
    return found


def build_application(
    experiment: Experiment,
    target: Target,
    app: App,
    *,
    server: str,
    scope: Scope,
    settings: Settings,
) -> dict[str, Any]:
    """Build the Application. Raises `SubstitutionError`; `NotYet` if a value is not known yet."""
    sources: list[Mapping[str, Any]] = []
    for component in app.components:
        sources += build_sources(component, app.params[component.name], scope)
    labels = naming.build_labels(experiment, target=target.name, layer=app.layer)
    namespace = naming.build_base_name(experiment)
    metadata: dict[str, Any] = {
        "name": app.name,
        "namespace": settings.argocd_namespace,
        "labels": labels,
    }
    if needs_cascading_deletion(target):
        metadata["finalizers"] = [RESOURCES_FINALIZER]
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": metadata,
        "spec": {
            "project": settings.argocd_project,
            "sources": sources,
            "destination": {"server": server, "namespace": namespace},
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": ["CreateNamespace=true", "ServerSideApply=true"],
                "managedNamespaceMetadata": {
                    "labels": {**_NAMESPACE_LABELS, **naming.build_labels(experiment)}
                },
                "retry": _RETRY,
            },
        },
    }


def needs_cascading_deletion(target: Target) -> bool:
    """Whether Argo CD must delete what it installed when the Application is deleted.

    It must on clusters that outlive the experiment. A virtual cluster is deleted with the
    experiment, but its volumes and load balancers are those of the hub.
    """
    return target.cluster.type in ("hub", "existing", "vcluster", "talos")


def describe_installed(resources: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Objects of Applications in the form of the status: Kind/name, sorted, without duplicates."""
    return tuple(sorted({f"{kind}/{name}" for kind, name in resources}))
