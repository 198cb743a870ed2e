"""Strategic merge as Kubernetes' own implementation did it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK
from quarterdeck.wire import strategic

GOLDEN = Path(__file__).parents[3] / "golden"
DEPLOYMENT = GVK("apps", "v1", "Deployment")
NODE = builtins.find_node(DEPLOYMENT)
assert NODE is not None


def cases() -> list[Any]:
    lines = (GOLDEN / "strategic" / "deployments.jsonl").read_text().splitlines()
    return [
        pytest.param(case, id=f"{case['operation']} {index}")
        for index, case in enumerate(map(json.loads, lines))
    ]


def run(case: dict[str, Any]) -> dict[str, Any]:
    assert NODE is not None
    match case["operation"]:
        case "apply":
            return strategic.apply(case["original"], case["patch"], NODE)
        case "diff":
            return strategic.diff(case["original"], case["modified"], NODE)
        case _:
            return strategic.create(case["original"], case["modified"], case["current"], NODE)


@pytest.mark.parametrize("case", cases())
def test_recorded_case_gives_the_recorded_result(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)
    if case.get("refused"):
        with pytest.raises(strategic.StrategicMergeError):
            run(case)
    else:
        assert run(case) == case["result"]
    assert case == before, "arguments must not change"


def test_recorded_server_patches_give_the_recorded_object() -> None:
    lines = (GOLDEN / "kube-apiserver-v1.32.4.jsonl").read_text().splitlines()
    titles = {case["title"]: case for case in map(json.loads, lines)}
    live = titles["deployment"]["body"]
    assert NODE is not None
    for title in ("add container", "env", "delete env", "order", "replace"):
        case = titles[f"strategic {title}"]
        patched = strategic.apply(live, case["request"]["body"], NODE)
        decoded = builtins.decode(patched, DEPLOYMENT).object
        live = case["body"]
        assert _defaulted(decoded["spec"], live["spec"]) == live["spec"]


def _defaulted(spec: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """A spec with the container defaults the server filled in, taken from the recording."""
    pairs = zip(
        spec["template"]["spec"]["containers"],
        recorded["template"]["spec"]["containers"],
        strict=True,
    )
    for container, model in pairs:
        for name in ("terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy"):
            container.setdefault(name, model[name])
    return spec
