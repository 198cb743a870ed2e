"""Finds the rules that a set of rules does not cover, for escalation checks. Pure.

Rules are split into single permissions, each is looked up in the rules that the user holds, and the
missing ones are joined again for the message.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from quarterdeck.server.authorization.policy_rule import ALL, PolicyRule, covers_path


def find_missing(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the permissions of `wanted` that no rule of `held` includes, compacted.

    A rule that `held` has in the same form is included as a whole and is not split.
    """
    whole = frozenset(held)
    missing = [
        single
        for rule in wanted
        if rule not in whole
        for single in split_rule(rule)
        if not any(_includes(owner, single) for owner in held)
    ]
    return compact_rules(missing)


def describe_rules(rules: Iterable[PolicyRule]) -> str:
    """Rules as messages list them: one a line, sorted, each once."""
    return "\n".join(sorted({str(rule) for rule in rules}))


def split_rule(rule: PolicyRule) -> Iterator[PolicyRule]:
    """The single permissions of a rule: one verb on one resource, or on one path."""
    names: list[tuple[str, ...]] = [(name,) for name in rule.resource_names] or [()]
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for name in names:
                    yield PolicyRule(
                        verbs=(verb,),
                        api_groups=(group,),
                        resources=(resource,),
                        resource_names=name,
                    )
    for url in rule.non_resource_urls:
        for verb in rule.verbs:
            yield PolicyRule(verbs=(verb,), non_resource_urls=(url,))


def compact_rules(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Join rules about the same single resource into one with all their verbs."""
    others: list[PolicyRule] = []
    joined: dict[PolicyRule, PolicyRule] = {}
    for rule in rules:
        if len(rule.api_groups) != 1 or len(rule.resources) != 1 or len(rule.resource_names) > 1:
            others.append(rule)
            continue
        key = msgspec.structs.replace(rule, verbs=())
        found = joined.get(key, key)
        joined[key] = msgspec.structs.replace(rule, verbs=(*found.verbs, *rule.verbs))
    return [*others, *joined.values()]


def _includes(owner: PolicyRule, single: PolicyRule) -> bool:
    return (
        _has_all(owner.verbs, single.verbs)
        and _has_all(owner.api_groups, single.api_groups)
        and all(_includes_resource(owner, resource) for resource in single.resources)
        and all(
            any(covers_path(pattern, url) for pattern in owner.non_resource_urls)
            for url in single.non_resource_urls
        )
        and _includes_names(owner, single)
    )


def _has_all(owned: Sequence[str], wanted: Sequence[str]) -> bool:
    return ALL in owned or all(each in owned for each in wanted)


def _includes_resource(owner: PolicyRule, resource: str) -> bool:
    if ALL in owner.resources or resource in owner.resources:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in owner.resources


def _includes_names(owner: PolicyRule, single: PolicyRule) -> bool:
    """Whether a rule covers the resource name of another; a rule without names covers all."""
    if not owner.resource_names:
        return True
    return bool(single.resource_names) and _has_each(owner.resource_names, single.resource_names)


def _has_each(owned: Sequence[str], wanted: Sequence[str]) -> bool:
    return all(each in owned for each in wanted)
