"""Which webhooks are candidates for a write: never one too few, and nobody for most writes."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.matching import EquivalentResources, find_match
from quarterdeck.server.admission.webhooks.candidates import Candidates
from quarterdeck.server.admission.webhooks.registration import Webhook, parse_webhooks
from quarterdeck.server.authentication.user import User
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.registry.registry import Registry

BUILT_IN = tuple(build_builtin_resources())


REGISTRY = Registry()
REGISTRY.put("built-in", BUILT_IN)
RESOURCES = {(each.gvr.group_resource, each.gvr.version): each for each in REGISTRY}


def write(
    resource: str, verb: str = "create", *, version: str = "v1", name: str = "x", below: str = ""
) -> AdmissionAttributes:
    found = RESOURCES[(resource, version)]
    return AdmissionAttributes(
        verb=verb,
        resource=found,
        namespace="n" if found.namespaced else "",
        name=name,
        user=User(name="alice"),
        subresource=below,
        value={"metadata": {"name": name}},
    )


def parse(rules: Sequence[Mapping[str, Any]], *, policy: str = "Equivalent") -> tuple[Webhook, ...]:
    full = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    webhooks = [
        {"name": f"w{index}.example.com", "matchPolicy": policy, "rules": [{**full, **rule}]}
        for index, rule in enumerate(rules)
    ]
    value = {"metadata": {"name": "c"}, "webhooks": webhooks}
    return tuple(parse_webhooks(value, is_mutating=False))


def choose_from(webhooks: Sequence[Webhook], registry: Registry = REGISTRY) -> Candidates:
    candidates = Candidates(registry, EquivalentResources(registry))
    candidates.replace(webhooks)
    return candidates


def find_places(candidates: Candidates, attributes: AdmissionAttributes) -> list[int]:
    return [index for index, _ in candidates.find(attributes)]


def test_a_write_no_rule_is_about_has_no_candidates() -> None:
    candidates = choose_from(parse([{"resources": ["pods"]}, {"operations": ["DELETE"]}]))
    assert find_places(candidates, write("configmaps")) == []


def test_candidates_keep_their_place_among_all() -> None:
    candidates = choose_from(parse([{"resources": ["pods"]}, {"resources": ["configmaps"]}]))
    assert find_places(candidates, write("configmaps")) == [1]


def test_the_verb_and_the_subresource_are_remembered_apart() -> None:
    rules = [{"operations": ["CREATE"]}, {"resources": ["pods/status"]}]
    candidates = choose_from(parse(rules))
    assert find_places(candidates, write("pods")) == [0]
    assert find_places(candidates, write("pods", "update")) == []
    assert find_places(candidates, write("pods", "update", below="status")) == [1]


def test_a_rule_about_one_name_does_not_hide_the_webhook_from_another() -> None:
    candidates = choose_from(parse([{"resourceNames": ["y"]}]))
    assert find_places(candidates, write("pods", name="x")) == [0]
    assert find_places(candidates, write("pods", name="y")) == [0]


def test_other_webhooks_take_effect_at_once() -> None:
    candidates = choose_from(parse([{"resources": ["pods"]}]))
    assert find_places(candidates, write("pods")) == [0]
    candidates.replace(())
    assert find_places(candidates, write("pods")) == []
    candidates.replace(parse([{}, {}]))
    assert find_places(candidates, write("pods")) == [0, 1]


def test_another_served_version_takes_effect_at_once() -> None:
    scaler = "horizontalpodautoscalers.autoscaling"
    registry = Registry()
    registry.put("built-in", [each for each in BUILT_IN if each.gvr.version != "v1"])
    candidates = choose_from(parse([{"apiVersions": ["v1"]}]), registry)
    assert find_places(candidates, write(scaler, version="v2")) == []
    registry.put("built-in", BUILT_IN)
    assert find_places(candidates, write(scaler, version="v2")) == [0]


RULES = st.fixed_dictionaries(
    {
        "operations": st.lists(st.sampled_from(["CREATE", "UPDATE", "*"]), min_size=1),
        "apiGroups": st.lists(st.sampled_from(["", "apps", "autoscaling", "*"]), min_size=1),
        "apiVersions": st.lists(st.sampled_from(["v1", "v2", "*"]), min_size=1),
        "resources": st.lists(st.sampled_from(["pods", "pods/*", "*", "*/status"]), min_size=1),
        "resourceNames": st.lists(st.sampled_from(["x", "y"])),
        "scope": st.sampled_from(["*", "Namespaced", "Cluster"]),
    }
)
WRITES = st.builds(
    lambda key, verb, name, below: write(key[0], verb, version=key[1], name=name, below=below),
    st.sampled_from(sorted(RESOURCES)),
    st.sampled_from(["create", "update", "delete"]),
    st.sampled_from(["x", "y"]),
    st.sampled_from(["", "status"]),
)


@given(st.lists(RULES, max_size=3), st.lists(WRITES, min_size=1), st.sampled_from(["Exact", "Any"]))
def test_every_webhook_that_matches_is_a_candidate(
    rules: list[dict[str, Any]], writes: list[AdmissionAttributes], policy: str
) -> None:
    webhooks = parse(rules, policy=policy)
    candidates = choose_from(webhooks)
    equivalents = EquivalentResources(REGISTRY)
    for attributes in writes:
        others = equivalents.get(attributes.resource)
        matching = {
            index
            for index, webhook in enumerate(webhooks)
            if find_match(webhook.rules, attributes, others, is_exact=webhook.is_exact)
        }
        found = set(find_places(candidates, attributes))
        assert matching <= found
        assert all(webhooks[index].rules[0].names for index in found - matching)
