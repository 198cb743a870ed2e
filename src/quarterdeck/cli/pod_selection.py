"""Selects the pods of a command: one pod, the pods of an object, or those with labels."""

from typing import TYPE_CHECKING, Any

from quarterdeck.cli.exit_codes import FAILED, CommandError

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.client.interfaces import ApiResource
    from quarterdeck.client.untyped import ResourceClient

Object = dict[str, Any]
_MAX_OWNERS = 8
"""How far up owners are followed: an Application owns a Deployment, that a ReplicaSet."""


async def find_pods(client: "Client", kind: str, name: str, namespace: str) -> list[Object]:
    """The pods of an object, by name; of a pod, the pod itself.

    Raises:
        CommandError: if it has none.
        NotFound: if there is no such object.
    """
    from quarterdeck.cli.resource_paths import find_resource

    found = await find_resource(client, kind)
    if not found.gvr.group and found.gvr.resource == "pods":
        return [await _open_pods(client).get(name, namespace)]
    owner = await client.resource(found.gvr).get(name, namespace if found.namespaced else "")
    labels = _build_selector(owner)
    pods = await list_pods(client, namespace, labels)
    if not labels:
        pods = [pod for pod in pods if await _is_owned(client, pod, owner)]
    if not pods:
        raise CommandError(f"{kind} {name} has no pods in namespace {namespace}", FAILED)
    return pods


async def list_pods(client: "Client", namespace: str, labels: str) -> list[Object]:
    """The pods of a namespace that have labels, by name."""
    from quarterdeck.wire.query import ListOptions

    listed = await _open_pods(client).list(namespace, ListOptions(label_selector=labels))
    return sorted(listed, key=lambda pod: str(pod["metadata"]["name"]))


def list_containers(pod: Object) -> list[str]:
    """The names of a pod's containers, the default one first."""
    names = [str(each["name"]) for each in pod["spec"].get("containers") or ()]
    notes = pod["metadata"].get("annotations") or {}
    default = notes.get("kubectl.kubernetes.io/default-container")
    return sorted(names, key=lambda name: name != default)


def _open_pods(client: "Client") -> "ResourceClient":
    from quarterdeck.meta.identity import GVR

    return client.resource(GVR("", "v1", "pods"))


def _build_selector(owner: Object) -> str:
    """The label selector of a workload or Service; empty for other kinds."""
    from quarterdeck.wire.label_selector import Selector

    selector = (owner.get("spec") or {}).get("selector")
    if not isinstance(selector, dict) or not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(Selector.from_label_selector(selector))
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


async def _is_owned(client: "Client", value: Object, owner: Object) -> bool:
    """Whether the controllers of an object lead to an owner."""
    for _ in range(_MAX_OWNERS):
        references = value["metadata"].get("ownerReferences") or ()
        controller = next((each for each in references if each.get("controller")), None)
        if controller is None:
            return False
        if controller["uid"] == owner["metadata"]["uid"]:
            return True
        value = await _read_owner(client, controller, value["metadata"].get("namespace", ""))
    return False


async def _read_owner(client: "Client", reference: Object, namespace: str) -> Object:
    from quarterdeck.meta.identity import GVK
    from quarterdeck.wire.status import NotFound

    group, _, version = str(reference["apiVersion"]).rpartition("/")
    resource: ApiResource = await client.raw.discover_resource(
        GVK(group, version, reference["kind"])
    )
    try:
        return await client.resource(resource.gvr).get(
            reference["name"], namespace if resource.namespaced else ""
        )
    except NotFound:
        return {"metadata": {}}
