"""`componentstatuses`: the health of the control plane, a deprecated API that old tools use.

They are computed, never stored. The components are parts of this server: etcd is the store, the
controller manager is the life cycle, and the scheduler is the simulation of workloads.
"""

from quarterdeck.kit import json as kit_json
from quarterdeck.server.core import Core
from quarterdeck.server.read.options import check_options
from quarterdeck.server.read.selection import parse_selection
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import lists, responses
from quarterdeck.storage import Entry, StorageError, StoreKey
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import NotFound

COMPONENT_STATUSES = "componentstatuses"
_DEPRECATION = "v1 ComponentStatus is deprecated in v1.19+"


async def get(core: Core, call: Call) -> responses.Response:
    """Answer with one component.

    Raises:
        NotFound: if there is no such component.
    """
    problem = _check_components(core).get(call.path.name, NotFound)
    if problem is NotFound:
        raise NotFound.of(COMPONENT_STATUSES, call.path.name)
    call.warn(_DEPRECATION)
    return responses.build_object(core, call, _build_status(call.path.name, str(problem or "")))


async def handle_list(core: Core, call: Call, options: ListOptions) -> responses.Response:
    """Answer with all components that the selectors match."""
    check_options(options)
    selection = parse_selection(call, options)
    call.warn(_DEPRECATION)
    entries = [
        Entry(StoreKey(COMPONENT_STATUSES, "", name), 0, 0, kit_json.encode(value))
        for name, problem in _check_components(core).items()
        if (value := _build_status(name, problem))
    ]
    chosen = [each for each in entries if selection.matches(each)]
    size = sum(len(each.value) for each in chosen)
    return await lists.build_list_response(core, call, chosen, size=size, metadata={})


def _check_components(core: Core) -> dict[str, str]:
    """Return the problem of each component; empty if it is healthy."""
    options = core.options
    stopped = "" if options.lifecycle else "the controllers are disabled"
    schedules = options.simulate_workloads or options.controllers_without_kubelet
    unscheduled = "" if schedules else "workloads are not simulated"
    try:
        core.store.snapshot()
        storage = ""
    except StorageError as error:
        storage = str(error)
    return {
        "controller-manager": stopped,
        "scheduler": stopped or unscheduled,
        "etcd-0": storage,
    }


def _build_status(name: str, problem: str) -> Object:
    condition = {"type": "Healthy", "status": "True", "message": "ok"}
    if problem:
        condition |= {"status": "False", "message": problem}
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name, "creationTimestamp": None},
        "conditions": [condition],
    }
