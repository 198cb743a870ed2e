"""ControllerRevisions: the numbered templates of stateful sets and daemon sets."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from quarterdeck.server.lifecycle.engine.actions import Action, Create
from quarterdeck.server.lifecycle.engine.objects import (
    build_owner_reference,
    delete,
    get_annotations,
    get_name,
    get_namespace,
    get_spec,
    get_status,
    get_uid,
    is_controlled_by,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.template_hash import hash_template
from quarterdeck.server.registry.resource import Object

REVISIONS = "controllerrevisions.apps"
HASH_LABEL = "controller-revision-hash"


class History(NamedTuple):
    """The revisions of one owner."""

    revisions: list[Object]
    """The stored revisions by number, oldest first."""
    newest: Object
    """The revision of the current template; it may not be stored yet."""
    actions: list[Action]
    """The action that creates `newest`, or gives it the highest number; may be empty."""

    def get_template(self, revision_name: str) -> Object | None:
        """Return the template of a revision."""
        for each in (*self.revisions, self.newest):
            if get_name(each) == revision_name:
                found: Object = each["data"]["spec"]["template"]
                return found
        return None


def build_history(view: View, owner: Object) -> History:
    """Build the history of an owner, with a revision of its current template."""
    known = [
        each for each in view.list_owned(get_uid(owner), REVISIONS) if is_controlled_by(each, owner)
    ]
    known.sort(key=lambda each: (each.get("revision") or 0, get_name(each)))
    template = get_spec(owner).get("template") or {}
    data = _sort_members({"spec": {"template": {**template, "$patch": "replace"}}})
    highest = max((each.get("revision") or 0 for each in known), default=0)
    same = next((each for each in reversed(known) if each.get("data") == data), None)
    if same is None:
        new = _build_revision(owner, template, data, highest + 1)
        return History(known, new, [Create(REVISIONS, new)])
    if same.get("revision") != highest:
        return History(known, same, [update(REVISIONS, same, revision=highest + 1)])
    return History(known, same, [])


def delete_old_revisions(owner: Object, history: History, live: set[str]) -> Iterator[Action]:
    """Delete the oldest unused revisions that exceed `revisionHistoryLimit`."""
    limit = get_spec(owner).get("revisionHistoryLimit")
    if limit is None:
        return
    idle = [
        each
        for each in history.revisions
        if get_name(each) not in live and get_name(each) != get_name(history.newest)
    ]
    for each in idle[: max(0, len(idle) - int(limit))]:
        yield delete(REVISIONS, each)


def get_hash(revision: Object) -> str:
    """Return the hash label of a revision."""
    return str((revision["metadata"].get("labels") or {}).get(HASH_LABEL) or "")


def _build_revision(owner: Object, template: Object, data: Object, number: int) -> Object:
    suffix = hash_template(template, get_status(owner).get("collisionCount") or 0)
    labels = dict((template.get("metadata") or {}).get("labels") or {})
    return {
        "kind": "ControllerRevision",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": f"{get_name(owner)}-{suffix}",
            "namespace": get_namespace(owner),
            "labels": {**labels, HASH_LABEL: suffix},
            **({"annotations": annotations} if (annotations := get_annotations(owner)) else {}),
            "ownerReferences": [build_owner_reference(owner)],
        },
        "data": data,
        "revision": number,
    }


def _sort_members(value: Any) -> Any:
    """Sort the members of objects as Go does: kubectl compares revisions as bytes."""
    match value:
        case dict():
            return {name: _sort_members(value[name]) for name in sorted(value)}
        case list():
            return [_sort_members(each) for each in value]
        case _:
            return value
