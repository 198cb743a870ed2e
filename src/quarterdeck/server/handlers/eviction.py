"""POST of an eviction: deletes a pod unless a PodDisruptionBudget refuses it."""

import contextlib
from collections.abc import Awaitable

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.identity import GVK
from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.kinds import eviction_budget
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_namespace, check_posted_name
from quarterdeck.server.response import responses
from quarterdeck.server.write.deletion import check_preconditions
from quarterdeck.server.write.subresource_admission import admit_posted
from quarterdeck.storage import Entry, RevisionConflict, StoreKey
from quarterdeck.wire.query import CreateOptions, DeleteOptions
from quarterdeck.wire.status import BadRequest

EVICTION = "eviction"
KIND = GVK("policy", "v1", "Eviction")
BUDGETS = "poddisruptionbudgets.policy"

_CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


async def handle(core: Core, call: Call) -> responses.Response:
    """Delete the pod with the options of the eviction, if its budget allows."""
    body = await decoder.read_body(call, core.options.max_body_bytes)
    media = decoder.get_content_type(call)
    value = await core.worker.run(len(body), lambda: decoder.decode_document(body, media))
    if not isinstance(value, dict) or not isinstance(value.get("metadata") or {}, dict):
        raise BadRequest("the body of an eviction must be an Eviction object")
    metadata = value["metadata"] = value.get("metadata") or {}
    check_namespace(call, metadata)
    check_posted_name(call, metadata, KIND.kind)
    sent = CreateOptions.parse(call.request.query)
    dry_run = list(sent.dry_run)
    write_options = write.WriteOptions(
        call.manager, is_dry_run=bool(dry_run), subresource=EVICTION, sent=sent
    )
    value = await admit_posted(core, call, value, write_options, kind=KIND)
    options = DeleteOptions.from_body({"dryRun": dry_run} | (value.get("deleteOptions") or {}))
    entry = write.get_current(core, call)
    pod = await core.worker.decode(call.resource, entry)
    # decided together with the deletion: the budget is not counted again between the two
    spent = _spend(core, call, pod, is_dry_run=bool(options.dry_run))
    if not options.dry_run:
        check_preconditions(call, options, pod["metadata"])
        _add_condition(core, call, entry, pod)
        options = _drop_version(options)
    await write.delete(core, call, options, is_admitted=True)
    if spent is not None:
        await spent
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
    return responses.build_document(core, call, kit_json.encode(document), 201)


def _spend(core: Core, call: Call, pod: Object, *, is_dry_run: bool) -> Awaitable[object] | None:
    """Record the disruption in the PodDisruptionBudget of the pod, if it has one.

    Raises:
        TooManyRequests: if the budget allows no more.
    """
    if not eviction_budget.is_protected(pod):
        return None
    entries = [
        core.store.get_pending(entry.key) or entry
        for entry in core.store.snapshot().range(BUDGETS, call.path.namespace)
    ]
    budget = eviction_budget.find_budget(pod, [kit_json.decode(entry.value) for entry in entries])
    if budget is None or eviction_budget.is_evictable_unready(budget, pod):
        return None
    eviction_budget.count_disruption(budget, format_time(core.clock.now()))
    if is_dry_run:
        return None

    key = StoreKey(BUDGETS, call.path.namespace, budget["metadata"]["name"])
    revision = int(budget["metadata"]["resourceVersion"])
    try:
        return core.store.put(key, build_encoder(budget), expected=revision)
    except RevisionConflict as error:  # the state just read is the newest decided one
        raise write.build_conflict(call, write.MODIFIED) from error


def _add_condition(core: Core, call: Call, entry: Entry, pod: Object) -> None:
    """Set the condition DisruptionTarget, by which controllers recognize an evicted pod."""
    conditions = get_items(pod, "status", "conditions")
    if any(_is_disrupted(each) for each in conditions):
        return
    others = [each for each in conditions if each.get("type") != _CONDITION["type"]]
    moment = {"lastProbeTime": None, "lastTransitionTime": format_time(core.clock.now())}
    status = {**get_mapping(pod, "status"), "conditions": [*others, _CONDITION | moment]}
    encode = build_encoder(
        {**pod, "metadata": {**pod["metadata"]}, "status": status}, call.resource
    )
    with contextlib.suppress(RevisionConflict):  # it has changed just now: it goes all the same
        core.store.put(entry.key, encode, expected=entry.revision)


def _is_disrupted(condition: Object) -> bool:
    return condition.get("type") == _CONDITION["type"] and condition.get("status") == "True"


def _drop_version(options: DeleteOptions) -> DeleteOptions:
    """Remove the resourceVersion precondition: it was checked, and the condition changed it."""
    wanted = options.preconditions
    if wanted is None:
        return options
    wanted = msgspec.structs.replace(wanted, resource_version=None)
    return msgspec.structs.replace(options, preconditions=wanted)
