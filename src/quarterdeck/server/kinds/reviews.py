"""Resources of reviews: access, subject and token reviews, which are answered and never stored."""

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


def build_review_resources() -> Iterator[Resource]:
    """Build every kind of review; all they have is a shape and the verb `create`."""
    for declared in builtins.list_resources():
        if declared.kind.kind in REVIEW_KINDS and builtins.is_builtin(declared.kind):
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
