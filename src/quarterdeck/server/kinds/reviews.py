"""Resources that are answered and never stored: access, subject and token reviews, and bindings."""

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
"""The kinds that `server.handlers.review` answers."""
BINDINGS = "bindings"
"""The resource that `server.handlers.binding` answers."""


def build_review_resources() -> Iterator[Resource]:
    """Build every kind of review, and bindings; all they have is a shape and the verb `create`."""
    for declared in builtins.list_resources():
        is_binding = declared.gvr.group_resource == BINDINGS
        if is_binding or (
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
                verbs=declared.verbs,
            )
