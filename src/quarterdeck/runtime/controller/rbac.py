"""Permissions from what controllers declare, and proof that nothing else is used.

`build_rules` turns declarations into RBAC rules, `UsageRecorder` observes what a client requests,
`find_uncovered` compares the two: a test fails before a cluster denies a request.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from quarterdeck.client.interfaces import Exchange
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.wire.path import ResourcePath

READ_VERBS = ("get", "list", "watch")
WRITE_VERBS = ("create", "delete", "patch", "update")


class Rule(NamedTuple):
    """What may be done with one resource; `resource` may name a subresource: `pods/status`."""

    group: str
    resource: str
    verbs: tuple[str, ...]


class Use(NamedTuple):
    """A permission that a request of a client needed."""

    group: str
    resource: str
    verb: str


def build_rules(
    controllers: Iterable[Controller[Any]],
    *,
    writes: Sequence[type[Object]] = (),
    events: bool = True,
    leader_election: bool = True,
    secured_metrics: bool = True,
) -> list[Rule]:
    """The rules the controllers need; `writes` names kinds they write without owning them."""
    wanted: dict[tuple[str, str], set[str]] = {}

    def allow(group: str, resource: str, verbs: Iterable[str]) -> None:
        wanted.setdefault((group, resource), set()).update(verbs)

    for controller in controllers:
        kind = controller.for_.KIND
        allow(kind.group, kind.plural, READ_VERBS)
        if kind.subresource_status:
            allow(kind.group, f"{kind.plural}/status", ("patch", "update"))
        if controller.finalizers:
            allow(kind.group, kind.plural, ("patch", "update"))
        if controller.owns:
            allow(kind.group, f"{kind.plural}/finalizers", ("update",))
        for own in controller.owned:
            allow(own.kind.KIND.group, own.kind.KIND.plural, (*READ_VERBS, *WRITE_VERBS))
        for each in controller.kinds:
            allow(each.KIND.group, each.KIND.plural, READ_VERBS)
        for each in controller.gets:
            allow(each.KIND.group, each.KIND.plural, ("get",))
        for each in controller.writes:
            allow(each.KIND.group, each.KIND.plural, (*READ_VERBS, *WRITE_VERBS))
    for each in writes:
        allow(each.KIND.group, each.KIND.plural, (*READ_VERBS, *WRITE_VERBS))
    if events:
        allow("", "events", ("create", "patch"))
        allow("events.k8s.io", "events", ("create", "patch"))
    if leader_election:
        allow("coordination.k8s.io", "leases", ("create", "get", "update"))
    if secured_metrics:
        allow("authentication.k8s.io", "tokenreviews", ("create",))
        allow("authorization.k8s.io", "subjectaccessreviews", ("create",))
    return [
        Rule(group, name, tuple(sorted(verbs))) for (group, name), verbs in sorted(wanted.items())
    ]


def drop_updates(rules: Iterable[Rule]) -> list[Rule]:
    """The rules of operators that apply and patch, and replace nothing by PUT.

    `update` of finalizers stays: no request uses it, but admission checks it for owner references.
    """
    return [
        rule
        if rule.resource.endswith("/finalizers")
        else rule._replace(verbs=tuple(verb for verb in rule.verbs if verb != "update"))
        for rule in rules
    ]


def build_cluster_role(name: str, rules: Iterable[Rule]) -> dict[str, Any]:
    """The ClusterRole manifest of some rules; resources with equal rights share an entry."""
    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for rule in rules:
        merged.setdefault((rule.group, rule.verbs), []).append(rule.resource)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
            for (group, verbs), resources in merged.items()
        ],
    }


class UsageRecorder:
    """An observer that notes every permission a client used."""

    def __init__(self) -> None:
        self.uses: set[Use] = set()

    def before(self, verb: str, path: ResourcePath) -> Sequence[tuple[str, str]]:
        """Called before each request; adds no headers."""
        return ()

    def after(self, exchange: Exchange) -> None:
        """Note one request."""
        path = exchange.path
        if path.resource:
            name = f"{path.resource}/{path.subresource}" if path.subresource else path.resource
            self.uses.add(Use(path.group, name, exchange.verb))


def find_uncovered(uses: Iterable[Use], rules: Iterable[Rule]) -> list[Use]:
    """What was used but is not allowed."""
    allowed = {(rule.group, rule.resource): set(rule.verbs) for rule in rules}
    return sorted(use for use in uses if use.verb not in allowed.get((use.group, use.resource), ()))
