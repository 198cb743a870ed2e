"""Connections to containers: `pods/exec`, `pods/attach` and `pods/portforward`.

No containers run here, so all of them are refused. Errors about the pod, its container or its node
have the text of Kubernetes.
"""

from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.kinds.fields import get_field, get_items
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import responses
from quarterdeck.storage import StoreKey
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import parse_query
from quarterdeck.wire.status import BadRequest, NotFound

PORT_FORWARD = "portforward"
CONNECTIONS = frozenset({"exec", "attach", PORT_FORWARD})


async def handle(core: Core, call: Call) -> responses.Response:
    """Refuse a connection.

    Raises:
        BadRequest: if the container does not exist, or the pod has no node.
        NotFound: if the pod or its node does not exist, and in all other cases.
    """
    entry = core.store.get(call.key)
    if entry is None:
        raise write.build_not_found(call)
    pod = await core.worker.decode(call.resource, entry)
    if call.path.subresource != PORT_FORWARD:
        _check_container(pod, parse_query(call.request.query).get("container", [""])[0])
    node = get_field(pod, "spec", "nodeName")
    if not node:
        raise BadRequest(f"pod {call.path.name} does not have a host assigned")
    if core.store.get(StoreKey("nodes", "", node)) is None:
        raise NotFound.of("pods", node)  # Kubernetes too reports the node as a pod
    raise build_not_served(call.path)


def _check_container(pod: Object, name: str) -> None:
    """Check the container name; it may be empty only if the pod has one container."""
    lists = ("initContainers", "containers", "ephemeralContainers")
    names = [str(each.get("name")) for member in lists for each in get_items(pod, "spec", member)]
    pod_name = pod["metadata"]["name"]
    if name and name not in names:
        raise BadRequest(f"container {name} is not valid for pod {pod_name}")
    if not name and len(get_items(pod, "spec", "containers")) != 1:
        text = f"a container name must be specified for pod {pod_name}, choose one of:"
        raise BadRequest(f"{text} [{' '.join(names)}]")


def build_not_served(path: ResourcePath) -> NotFound:
    """Build the 404 for a subresource that needs a kubelet."""
    full = f"{path.resource}/{path.subresource}"
    return NotFound(
        f"{full} is not supported: this API server has no kubelet and runs no containers"
    )
