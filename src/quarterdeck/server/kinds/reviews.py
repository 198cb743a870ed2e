"""Resources that are not stored: reviews, bindings and component statuses."""

from collections.abc import Iterator

from quarterdeck.meta import builtins
from quarterdeck.server.kinds.catalog import find_rules
from quarterdeck.server.kinds.strategy import BuiltinStrategy
from quarterdeck.server.registry.resource import Resource

REVIEW_KINDS = frozenset(
    {
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview",
        "SelfSubjectReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
        "TokenReview",
    }
)
"""The kinds that `server.handlers.review` handles."""
BINDINGS = "bindings"
"""The resource that `server.handlers.binding` handles."""
_ANSWERED = frozenset({BINDINGS, "componentstatuses"})
"""Resources with handlers of their own."""


def build_review_resources() -> Iterator[Resource]:
    """Build the resources of all reviews, of bindings and of component statuses."""
    for declared in builtins.list_resources():
        is_answered = declared.gvr.group_resource in _ANSWERED
        if is_answered or (
            declared.kind.kind in REVIEW_KINDS and builtins.is_builtin(declared.kind)
        ):
            yield Resource(
                gvr=declared.gvr,
                kind=declared.kind.kind,
                list_kind=f"{declared.kind.kind}List",
                singular=declared.singular,
                namespaced=declared.namespaced,
                strategy=BuiltinStrategy(
                    declared.kind, find_rules(declared.kind), has_status=False
                ),
                short_names=declared.short_names,
                verbs=declared.verbs,
            )
