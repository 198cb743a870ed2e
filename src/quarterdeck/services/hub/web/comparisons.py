"""`GET /comparison`: the metrics of two experiments side by side, for viewers who may read both.

Results are read with the viewer's own rights from the ConfigMaps beside the experiments. Results
that are kept elsewhere need credentials that viewers do not have: the answer then names the command
that compares them.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qs

from quarterdeck.client.errors import ClientError
from quarterdeck.client.requests import get
from quarterdeck.client.transport import Transport
from quarterdeck.kit import json
from quarterdeck.kit.http import Request, Response
from quarterdeck.services.hub.web.kube_proxy import HEADERS, JSON, fail
from quarterdeck.services.hub.web.viewer import Transports, Viewer
from quarterdeck.wire import path as paths
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import GetOptions
from quarterdeck.wire.status import ApiError, BadRequest, ServiceUnavailable

PATH = "/comparison"
GROUP = "experiments.illm.io"
SUMMARY = "summary.json"
_SCHEME = "configmap"
_NONE = ("", "disabled")

Compare = Callable[[bytes, bytes], Sequence[dict[str, Any]]]
"""Compares each metric of two summaries. Raises `Incomparable`."""


class Incomparable(Exception):
    """Raised for two runs whose metrics cannot be compared here; has the cause and the fix."""


class Comparisons:
    """Answers `/comparison`."""

    def __init__(self, transports: Transports, compare: Compare) -> None:
        self._transports = transports
        self._compare = compare
        self._turn = asyncio.Lock()
        """Allows one comparison at a time, because the statistics keep a core busy."""

    async def handle(self, request: Request, viewer: Viewer) -> Response:
        """The metrics of the experiments that `a` and `b` name."""
        query = parse_qs(request.query)
        a, b = (_parse_experiment((query.get(each) or [""])[0]) for each in "ab")
        if a is None or b is None:
            message = (
                f"a and b must each name one experiment, such as /apis/{GROUP}/v1alpha1/"
                "namespaces/default/experiments/first"
            )
            return fail(BadRequest(message))
        transport = await self._transports.get(viewer)
        try:
            summaries = [await _read_summary(transport, each) for each in (a, b)]
            async with self._turn:
                metrics = await asyncio.to_thread(self._compare, *summaries)
        except Incomparable as error:
            return _answer({"metrics": [], "message": str(error)})
        except ApiError as error:
            return fail(error)
        except ClientError as error:
            return fail(ServiceUnavailable(str(error)))
        return _answer({"metrics": metrics, "message": ""})


def _parse_experiment(text: str) -> ResourcePath | None:
    path = paths.parse(text)
    if path is None or not path.name or path.subresource:
        return None
    return path if (path.group, path.resource) == (GROUP, "experiments") else None


async def _read_summary(transport: Transport, path: ResourcePath) -> bytes:
    """The stored summary of one experiment.

    Raises:
        Incomparable: if there is none, or it is not in a ConfigMap.
        ApiError: if the viewer may not read the experiment or its results.
    """
    experiment = json.decode(await transport.send(get(path, GetOptions())))
    status = experiment.get("status") or {}
    url = status.get("resultsURL") or ""
    if url in _NONE:
        phase = status.get("phase") or "Pending"
        raise Incomparable(f"{path.name} is {phase} and has no results")
    scheme, _, where = url.partition("://")
    namespace, _, name = where.partition("/")
    if scheme != _SCHEME or not namespace or not name or "/" in name:
        raise Incomparable(
            f"the results of {path.name} are not in a ConfigMap, and the dashboard reads no others;"
            " compare the runs with `quarterdeck experiments compare`"
        )
    found = ResourcePath("", "v1", "configmaps", namespace=namespace, name=name)
    data = json.decode(await transport.send(get(found, GetOptions()))).get("data") or {}
    if SUMMARY not in data:
        raise Incomparable(f"ConfigMap {found.namespace}/{found.name} has no {SUMMARY}")
    return str(data[SUMMARY]).encode()


def _answer(document: dict[str, Any]) -> Response:
    return Response(200, [JSON, *HEADERS], json.encode(document))
