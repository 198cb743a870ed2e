"""`GET /why`: the last reconciles of one object, for viewers who may read it.

Causes, reads and writes name other objects. A viewer who may read everything sees all of them,
one who may read a whole namespace those of that namespace, others only what is about
the object itself.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from quarterdeck.client.errors import ClientError
from quarterdeck.client.requests import create, get
from quarterdeck.client.transport import Transport
from quarterdeck.kit import json
from quarterdeck.kit.http import Request, Response
from quarterdeck.meta.identity import Key
from quarterdeck.services.hub.web.kube_proxy import HEADERS, JSON, fail
from quarterdeck.services.hub.web.remote_journals import JournalsUnreachable
from quarterdeck.services.hub.web.viewer import Transports, Viewer
from quarterdeck.wire import path as paths
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions, GetOptions
from quarterdeck.wire.status import ApiError, BadRequest, ServiceUnavailable

PATH = "/why"
SHOWN = 20
Explain = Callable[[str, Key], Awaitable[Sequence[dict[str, Any]]]]
"""The reconciles of an object by `kind.group` and key, one entry for each controller. Raises
`JournalsUnreachable`."""
_REVIEWS = ResourcePath("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
_LISTS = ("causes", "reads", "writes")


class Explanations:
    """Answers `/why`."""

    def __init__(self, transports: Transports, explain: Explain | None) -> None:
        """`explain` is None if the operators cannot be reached."""
        self._transports = transports
        self._explain = explain

    async def handle(self, request: Request, viewer: Viewer) -> Response:
        """Answer with the reconciles of the object that `path` names."""
        path = paths.parse((parse_qs(request.query).get("path") or [""])[0])
        if path is None or not path.name or path.subresource:
            return fail(BadRequest("path must name one object, such as /api/v1/namespaces/a"))
        if self._explain is None:
            message = (
                "the operators run in another process: set OPERATORS_URL, or use `quarterdeck why`"
            )
            return _answer({"controllers": [], "message": message})
        transport = await self._transports.get(viewer)
        try:
            found = json.decode(await transport.send(get(path, GetOptions())))
            kind = str(found["kind"])
            key = Key(path.namespace, path.name)
            controllers = await self._explain(f"{kind}.{path.group}", key)
            keep = await _choose_filter(transport, path, kind)
        except ApiError as error:
            return fail(error)
        except (ClientError, JournalsUnreachable) as error:
            return fail(ServiceUnavailable(str(error)))
        return _answer({"controllers": [_restrict(each, keep) for each in controllers]})


Keep = Callable[[str, str], bool]
"""Returns whether to show an entry about an object, given by kind and `namespace/name`."""


async def _choose_filter(transport: Transport, path: ResourcePath, kind: str) -> Keep:
    if await _may_read_all(transport, ""):
        return lambda _kind, _name: True
    if path.namespace and await _may_read_all(transport, path.namespace):
        return lambda _kind, name: name.startswith(f"{path.namespace}/")
    own = (kind, f"{path.namespace}/{path.name}" if path.namespace else path.name)
    return lambda kind, name: (kind, name) == own


async def _may_read_all(transport: Transport, namespace: str) -> bool:
    asked = {"verb": "get", "group": "*", "resource": "*", "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    body = await transport.send(create(_REVIEWS, json.encode(review), CreateOptions()))
    return bool((json.decode(body).get("status") or {}).get("allowed"))


def _restrict(controller: Mapping[str, Any], keep: Keep) -> dict[str, Any]:
    shown = [_restrict_record(each, keep) for each in controller["reconciles"][:SHOWN]]
    return {"controller": controller["controller"], "reconciles": shown}


def _restrict_record(record: Mapping[str, Any], keep: Keep) -> dict[str, Any]:
    kept = {
        field: [
            each
            for each in record[field]
            if "object" not in each or keep(str(each.get("kind")), each["object"])
        ]
        for field in _LISTS
    }
    hidden = sum(len(record[field]) - len(kept[field]) for field in _LISTS)
    return {**record, **kept, "hidden": hidden}


def _answer(document: dict[str, Any]) -> Response:
    return Response(200, [JSON, *HEADERS], json.encode(document))
