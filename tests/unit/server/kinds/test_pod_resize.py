"""What `pods/resize` changes and what it refuses, as the newest release does."""

import copy
from collections.abc import Iterator
from typing import Any

import newest
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.kinds.pod_resize import merge_resize, validate_resize

CPU = st.sampled_from(["100m", "0.1", "1", "2"])
AMOUNTS = st.fixed_dictionaries(
    {}, optional={"cpu": CPU, "memory": st.sampled_from(["1Gi", "2Gi"])}
)


@pytest.fixture(autouse=True)
def _newest() -> Iterator[None]:
    with newest.being("1.37"):
        yield


def make_pod(*requests: dict[str, str], **members: Any) -> dict[str, Any]:
    containers = [
        {"name": f"c{index}", "image": "i", "resources": {"requests": each}}
        for index, each in enumerate(requests)
    ]
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": containers, **members},
        "status": {"qosClass": "Burstable"},
    }


def find_problems(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    merged = {**new, "spec": merge_resize(new["spec"], old["spec"])}
    return [f"{each.field}: {each.detail}" for each in validate_resize(merged, old)]


def test_an_amount_in_other_words_is_no_change() -> None:
    old = make_pod({"cpu": "100m", "example.com/gpu": "1"})
    new = make_pod({"cpu": "0.1", "example.com/gpu": "1000m"})
    assert find_problems(new, old) == []


def test_other_members_of_the_body_are_left_out() -> None:
    old, new = make_pod({"cpu": "1"}), make_pod({"cpu": "2"}, nodeName="other")
    new["spec"]["containers"][0]["image"] = "other"
    merged = merge_resize(new["spec"], old["spec"])
    assert merged == make_pod({"cpu": "2"})["spec"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda pod: pod["spec"]["containers"].pop(),
            "spec.containers: containers may not be added or removed on resize",
        ),
        (
            lambda pod: pod["spec"]["containers"].reverse(),
            "spec.containers[0].name: containers may not be renamed or reordered on resize",
        ),
        (
            lambda pod: pod["spec"]["containers"][0]["resources"]["requests"].pop("cpu"),
            "spec.containers[0].resources.requests: resource requests cannot be removed",
        ),
        (
            lambda pod: pod["spec"]["containers"][0]["resources"].update(
                requests={"cpu": "1", "example.com/gpu": "2"}
            ),
            "spec: only cpu and memory resources are mutable",
        ),
        (
            lambda pod: pod["spec"]["containers"][1].update(
                resources={"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
            ),
            "",
        ),
    ],
    ids=["removed", "reordered", "request removed", "device added", "limit added"],
)
def test_a_change_is_refused_with_its_reason(change: Any, problem: str) -> None:
    old = make_pod({"cpu": "1"}, {"cpu": "1"})
    new = copy.deepcopy(old)
    change(new)
    assert (problem in find_problems(new, old)) if problem else not find_problems(new, old)


@pytest.mark.parametrize(
    ("old", "text"),
    [
        (
            make_pod({"cpu": "1"}, os={"name": "windows"}),
            "windows pods cannot be resized",
        ),
        (
            {
                **make_pod({"cpu": "1"}),
                "status": {"containerStatuses": [{"state": {"running": {}}}]},
            },
            "Pod running on node without support for resize",
        ),
    ],
    ids=["windows", "old kubelet"],
)
def test_a_pod_that_cannot_be_resized_says_why(old: dict[str, Any], text: str) -> None:
    assert text in "".join(find_problems(make_pod({"cpu": "2"}), old))


@given(st.lists(AMOUNTS, min_size=1, max_size=3), st.data())
def test_a_resize_changes_resources_only(before: list[dict[str, str]], data: st.DataObject) -> None:
    after = [data.draw(AMOUNTS) for _ in before]
    old, new = make_pod(*before), make_pod(*after)
    merged = merge_resize(new["spec"], old["spec"])
    assert merged == new["spec"]  # images and names are the same
    removed = any(a.keys() - b.keys() for a, b in zip(before, after, strict=True))
    found = [each for each in find_problems(new, old) if "cannot be removed" in each]
    assert bool(found) == removed
