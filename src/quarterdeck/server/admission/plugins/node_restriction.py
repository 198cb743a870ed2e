"""NodeRestriction: a kubelet changes its own node and the pods that run on it, and nothing else.

Kubelets are the users `system:node:NAME` of the group `system:nodes`. Roles decide which resources
they may write; this plugin decides which objects.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.plugins.lookup import get_object
from quarterdeck.server.authentication.user import User
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store
from quarterdeck.wire.status import NotFound

_GROUP = "system:nodes"
_PREFIX = "system:node:"
_LEASES = "kube-node-lease"
_MIRROR = "kubernetes.io/config.mirror"
_RESTRICTED = "node-restriction.kubernetes.io"
_KUBELET_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
_KUBELET_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")


class NodeRestriction(MutatingPlugin):
    """Refuses writes of kubelets to other nodes and their pods; it changes no object."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Check a write of a kubelet.

        Raises:
            Forbidden: saying what a node may do instead.
        """
        if _GROUP not in attributes.user.groups:
            return
        name = _get_node_name(attributes.user)
        if not name:
            why = f'could not determine node from user "{attributes.user.name}"'
            raise build_forbidden(attributes, why)
        if why := next(self._find_problems(name, attributes), ""):
            raise build_forbidden(attributes, why)

    def _find_problems(self, node: str, attributes: AdmissionAttributes) -> Iterator[str]:
        match attributes.resource.gvr.group_resource:
            case "pods":
                yield from self._check_pod(node, attributes)
            case "nodes":
                yield from _check_node(node, attributes)
            case "persistentvolumeclaims" if attributes.subresource != "status":
                yield "may only update PVC status"
            case "serviceaccounts" if attributes.subresource == "token":
                yield from self._check_token(node, attributes)
            case "leases.coordination.k8s.io":
                if attributes.namespace != _LEASES:
                    yield f'can only access leases in the "{_LEASES}" system namespace'
                elif attributes.name != node:
                    yield "can only access node lease with the same name as the requesting node"
            case "csinodes.storage.k8s.io" if attributes.name != node:
                yield "can only access CSINode with the same name as the requesting node"

    def _check_pod(self, node: str, attributes: AdmissionAttributes) -> Iterator[str]:
        verb, itself = attributes.verb, "with spec.nodeName set to itself"
        match attributes.subresource:
            case "" if verb == "create":
                yield from self._check_new_pod(node, attributes.value or {})
            case "" if verb == "delete":
                if get_field(attributes.old or {}, "spec", "nodeName") != node:
                    yield f'node "{node}" can only delete pods {itself}'
            case "":
                yield (
                    f'unexpected operation "{verb.upper()}", node "{node}" can only create and'
                    " delete mirror pods"
                )
            case "status":
                if get_field(attributes.old or {}, "spec", "nodeName") != node:
                    yield f'node "{node}" can only update pod status for pods {itself}'
                elif _get_labels(attributes.value) != _get_labels(attributes.old):
                    yield f'node "{node}" cannot update labels through pod status'
            case "eviction":
                if self._find_node_of(attributes.namespace, attributes.name) != node:
                    yield f"node {node} can only evict pods {itself}"
            case other:
                yield (
                    f"unexpected pod subresource \"{other}\", only 'status' and 'eviction' are"
                    " allowed"
                )

    def _check_new_pod(self, node: str, pod: Object) -> Iterator[str]:
        """Check a pod that a kubelet creates: a mirror pod of a static pod, owned by its node."""
        if _MIRROR not in get_mapping(pod, "metadata", "annotations"):
            yield (
                f'pod does not have "{_MIRROR}" annotation, node "{node}" can only create mirror'
                " pods"
            )
        can = f'node "{node}" can only create pods with'
        if get_field(pod, "spec", "nodeName") != node:
            yield f"{can} spec.nodeName set to itself"
        owners = get_items(pod, "metadata", "ownerReferences")
        if len(owners) > 1:
            yield f"{can} a single owner reference set to itself"
        wanted = {"apiVersion": "v1", "kind": "Node", "name": node}
        if not owners or any(owners[0].get(each) != text for each, text in wanted.items()):
            yield f"{can} an owner reference set to itself"
            return
        if not owners[0].get("controller"):
            yield f"{can} a controller owner reference set to itself"
        if owners[0].get("blockOwnerDeletion"):
            yield f'node "{node}" must not set blockOwnerDeletion on an owner reference'
        found = get_object(self._store, "nodes", "", node)
        if found is None:
            raise NotFound.of("nodes", node)
        uid = found["metadata"].get("uid")
        if owners[0].get("uid") != uid:
            yield f"node {node} UID mismatch: expected {owners[0].get('uid')} got {uid}"
        if get_field(pod, "spec", "serviceAccountName"):
            yield f'node "{node}" can not create pods that reference a service account'
        for what in _list_references(get_mapping(pod, "spec")):
            yield f'node "{node}" can not create pods that reference {what}'

    def _check_token(self, node: str, attributes: AdmissionAttributes) -> Iterator[str]:
        reference = get_mapping(attributes.value or {}, "spec", "boundObjectRef")
        name, uid = reference.get("name") or "", reference.get("uid") or ""
        if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not name:
            yield "node requested token not bound to a pod"
        if not uid:
            yield "node requested token with a pod binding without a uid"
        pod = get_object(self._store, "pods", attributes.namespace, name)
        if pod is None:
            raise NotFound.of("pods", name)
        if pod["metadata"].get("uid") != uid:
            yield (
                f"the UID in the bound object reference ({uid}) does not match the UID in record."
                " The object might have been deleted and then recreated"
            )
        if get_field(pod, "spec", "nodeName") != node:
            yield "node requested token bound to a pod scheduled on a different node"

    def _find_node_of(self, namespace: str, name: str) -> str:
        pod = get_object(self._store, "pods", namespace, name)
        if pod is None:
            raise NotFound.of("pods", name)
        return str(get_field(pod, "spec", "nodeName") or "")


def _get_node_name(user: User) -> str:
    return user.name.removeprefix(_PREFIX) if user.name.startswith(_PREFIX) else ""


def _check_node(node: str, attributes: AdmissionAttributes) -> Iterator[str]:
    if attributes.name != node:
        yield f'node "{node}" is not allowed to modify node "{attributes.name}"'
    if attributes.value is None:
        return
    labels, before = _get_labels(attributes.value), _get_labels(attributes.old)
    changed = sorted(
        key for key in labels.keys() | before.keys() if labels.get(key) != before.get(key)
    )
    forbidden = ", ".join(key for key in changed if _is_forbidden(key))
    if attributes.verb == "create":
        if forbidden:
            yield f'node "{node}" is not allowed to set the following labels: {forbidden}'
        return
    if get_items(attributes.value, "spec", "taints") != get_items(
        attributes.old or {}, "spec", "taints"
    ):
        yield f'node "{node}" is not allowed to modify taints'
    if forbidden:
        yield f"is not allowed to modify labels: {forbidden}"


def _is_forbidden(label: str) -> bool:
    """Whether a label is in a domain of Kubernetes and not one that kubelets may set."""
    domain, slash, _ = label.partition("/")
    if not slash:
        return False
    if _is_within(domain, _RESTRICTED):
        return True
    if not (_is_within(domain, "kubernetes.io") or _is_within(domain, "k8s.io")):
        return False
    return label not in _KUBELET_LABELS and not any(
        _is_within(domain, each) for each in _KUBELET_DOMAINS
    )


def _is_within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _get_labels(value: Object | None) -> Mapping[str, Any]:
    return get_mapping(value or {}, "metadata", "labels")


def _list_references(spec: Object) -> Iterator[str]:
    """List the kinds of API objects that a pod spec references, in Kubernetes' order."""
    volumes = get_items(spec, "volumes")
    sources = [each for volume in volumes for each in get_items(volume, "projected", "sources")]
    containers = [
        each
        for member in ("initContainers", "containers", "ephemeralContainers")
        for each in get_items(spec, member)
    ]
    values = [each for one in containers for each in get_items(one, "env")]
    values = [get_mapping(each, "valueFrom") for each in values]
    values += [each for one in containers for each in get_items(one, "envFrom")]
    used = {name for each in (*volumes, *sources, *values) for name in each}
    if used & {"secret", "secretKeyRef", "secretRef"} or spec.get("imagePullSecrets"):
        yield "secrets"
    if used & {"configMap", "configMapKeyRef", "configMapRef"}:
        yield "configmaps"
    if "clusterTrustBundle" in used:
        yield "clustertrustbundles"
    if "persistentVolumeClaim" in used:
        yield "persistentvolumeclaims"
