"""The pure protocol layer over many objects: JSON, selectors, watch frames, patches, apply."""

import importlib
import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from bench.suite import OURS, Case, Contenders, Measure, Missing, Scale, Suite
from bench.timing import per_call_us


def cases(scale: Scale) -> Sequence[Case]:
    count = scale.pick(1_000, 10_000, 10_000)
    growth = scale.pick(
        (250, 500, 1_000), (2_500, 5_000, 10_000), (12_500, 25_000, 50_000, 100_000)
    )
    lists = scale.pick((8, 16, 32), (16, 32, 64, 128), (32, 64, 128, 256, 512))
    objects = "µs an object"
    return [
        Case(name="decode objects", unit=objects, open=lambda _: _decode(count)),
        Case(name="encode objects", unit=objects, open=lambda _: _encode(count)),
        Case(
            name="label selector, equality",
            unit=objects,
            open=lambda _: _labels("app=web-3", count),
        ),
        Case(
            name="label selector, set",
            unit=objects,
            open=lambda _: _labels("app in (web-1,web-2),!canary,tier!=db", count),
        ),
        Case(name="field selector", unit=objects, open=lambda _: _fields(count)),
        Case(name="watch frame, encode", unit="µs an event", open=lambda _: _frame_encode(count)),
        Case(
            name="watch frame, decode",
            unit="µs an event",
            open=lambda _: _frame_decode(count, whole=False),
            note="Ours leaves the object as bytes until somebody asks for it.",
        ),
        Case(
            name="watch frame, decode with its object",
            unit="µs an event",
            open=lambda _: _frame_decode(count, whole=True),
        ),
        Case(name="merge patch", unit="µs a patch", open=lambda _: _merge_patch()),
        Case(
            name="strategic merge of a Deployment",
            unit="µs a patch",
            open=lambda _: _strategic_deployment(),
        ),
        Case(
            name="server-side apply of a custom resource, growth by fields",
            unit="µs",
            open=_apply_custom,
            sizes=scale.pick((10, 20, 40), (10, 20, 40, 80, 160), (10, 20, 40, 80, 160, 320)),
        ),
        Case(name="decode a list, growth", unit="µs", open=_decode_list, sizes=growth),
        Case(name="strategic merge, growth by containers", unit="µs", open=_strategic, sizes=lists),
        Case(name="server-side apply, growth by containers", unit="µs", open=_apply, sizes=lists),
    ]


def _pod(number: int, containers: int = 1) -> dict[str, Any]:
    name = f"web-{number % 7}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-{number}",
            "namespace": f"team-{number % 11}",
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "resourceVersion": str(number),
            "labels": {"app": name, "tier": "web" if number % 3 else "db", "index": str(number)},
            "annotations": {"example.com/note": "n" * 60},
        },
        "spec": {
            "nodeName": f"node-{number % 5}",
            "containers": [
                {
                    "name": f"c{index}",
                    "image": f"registry.example/app:{number % 13}",
                    "ports": [{"containerPort": 8080 + index, "protocol": "TCP"}],
                    "env": [{"name": f"KEY_{each}", "value": f"value {each}"} for each in range(4)],
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                }
                for index in range(containers)
            ],
        },
        "status": {"phase": "Running" if number % 4 else "Pending"},
    }


def _optional(module: str, use: Callable[[Any], Measure]) -> Measure | Missing:
    if importlib.util.find_spec(module) is None:
        return Missing(f"{module} is not installed")
    return use(importlib.import_module(module))


@contextmanager
def _decode(count: int) -> Iterator[Contenders]:
    from quarterdeck.kit import json as ours

    texts = [json.dumps(_pod(number)).encode() for number in range(count)]

    def over(decode: Callable[[bytes], object]) -> Measure:
        return lambda: per_call_us(lambda: [decode(text) for text in texts], calls=count)

    yield {
        OURS: over(ours.decode),
        "json": over(json.loads),
        "orjson": _optional("orjson", lambda orjson: over(orjson.loads)),
    }


@contextmanager
def _encode(count: int) -> Iterator[Contenders]:
    from quarterdeck.kit import json as ours

    pods = [_pod(number) for number in range(count)]

    def over(encode: Callable[[object], object]) -> Measure:
        return lambda: per_call_us(lambda: [encode(pod) for pod in pods], calls=count)

    yield {
        OURS: over(ours.encode),
        "json": over(lambda pod: json.dumps(pod, separators=(",", ":")).encode()),
        "orjson": _optional("orjson", lambda orjson: over(orjson.dumps)),
    }


@contextmanager
def _labels(text: str, count: int) -> Iterator[Contenders]:
    from quarterdeck.wire.label_selector import Selector

    labels: list[dict[str, str]] = [_pod(number)["metadata"]["labels"] for number in range(count)]
    matches = Selector.parse(text).matches

    def by_hand(each: Mapping[str, str]) -> bool:
        if text == "app=web-3":
            return each.get("app") == "web-3"
        return (
            each.get("app") in ("web-1", "web-2")
            and "canary" not in each
            and each.get("tier") != "db"
        )

    if [matches(each) for each in labels] != [by_hand(each) for each in labels]:
        raise AssertionError(f"the selector {text} and its hand-written twin disagree")

    def over(test: Callable[[Mapping[str, str]], bool]) -> Measure:
        return lambda: per_call_us(lambda: [test(each) for each in labels], calls=count)

    yield {OURS: over(matches), "dictionaries, by hand": over(by_hand)}


@contextmanager
def _fields(count: int) -> Iterator[Contenders]:
    from quarterdeck.wire.field_selector import FieldSelector

    facts = [
        {"metadata.name": pod["metadata"]["name"], "spec.nodeName": pod["spec"]["nodeName"]}
        for pod in map(_pod, range(count))
    ]
    selector = FieldSelector.parse("spec.nodeName=node-3,metadata.name!=web-1-1")

    def ours() -> list[bool]:
        return [selector.matches(_getter(each)) for each in facts]

    def by_hand() -> list[bool]:
        return [
            each.get("spec.nodeName") == "node-3" and each.get("metadata.name") != "web-1-1"
            for each in facts
        ]

    def is_wanted(get: Callable[[str], str]) -> bool:
        return get("spec.nodeName") == "node-3" and get("metadata.name") != "web-1-1"

    def by_getter() -> list[bool]:
        return [is_wanted(_getter(each)) for each in facts]

    if not ours() == by_hand() == by_getter():
        raise AssertionError("the field selector and its hand-written twin disagree")
    yield {
        OURS: lambda: per_call_us(ours, calls=count),
        "by hand, same getter": lambda: per_call_us(by_getter, calls=count),
        "dictionaries, by hand": lambda: per_call_us(by_hand, calls=count),
    }


def _getter(fields: Mapping[str, str]) -> Callable[[str], str]:
    return lambda name: fields.get(name, "")


@contextmanager
def _frame_encode(count: int) -> Iterator[Contenders]:
    from quarterdeck.wire.frame import EventType, encode_event

    pods = [_pod(number) for number in range(count)]
    stored = [json.dumps(pod).encode() for pod in pods]

    def ours() -> list[bytes]:
        return [encode_event(EventType.MODIFIED, each) for each in stored]

    def orjson_pass(orjson: Any) -> Measure:
        return lambda: per_call_us(
            lambda: [orjson.dumps({"type": "MODIFIED", "object": pod}) + b"\n" for pod in pods],
            calls=count,
        )

    yield {
        OURS: lambda: per_call_us(ours, calls=count),
        "orjson, whole event": _optional("orjson", orjson_pass),
    }


@contextmanager
def _frame_decode(count: int, *, whole: bool) -> Iterator[Contenders]:
    from quarterdeck.kit import json as ours
    from quarterdeck.wire.frame import EventType, decode_event, encode_event

    lines = [
        encode_event(EventType.ADDED, json.dumps(_pod(number)).encode()) for number in range(count)
    ]

    def over(decode: Callable[[bytes], object]) -> Measure:
        return lambda: per_call_us(lambda: [decode(line) for line in lines], calls=count)

    yield {
        OURS: over(
            (lambda line: ours.decode(decode_event(line).object)) if whole else decode_event
        ),
        "json": over(json.loads),
        "orjson": _optional("orjson", lambda orjson: over(orjson.loads)),
    }


@contextmanager
def _merge_patch() -> Iterator[Contenders]:
    from copy import deepcopy

    from quarterdeck.wire import merge_patch

    pod = _pod(1)
    patch = {"metadata": {"labels": {"app": "new", "tier": None}}, "spec": {"nodeName": "node-9"}}

    def by_copy() -> dict[str, Any]:
        copied = deepcopy(pod)
        copied["metadata"]["labels"]["app"] = "new"
        del copied["metadata"]["labels"]["tier"]
        copied["spec"]["nodeName"] = "node-9"
        return copied

    if merge_patch.apply(pod, patch) != by_copy():
        raise AssertionError("the merge patch and its hand-written twin disagree")
    yield {
        OURS: lambda: per_call_us(lambda: merge_patch.apply(pod, patch)),
        "deepcopy, by hand": lambda: per_call_us(by_copy),
    }


@contextmanager
def _decode_list(size: int) -> Iterator[Contenders]:
    from quarterdeck.kit import json as ours

    text = json.dumps({"kind": "PodList", "items": [_pod(each) for each in range(size)]}).encode()
    yield {
        OURS: lambda: per_call_us(lambda: ours.decode(text)),
        "json": lambda: per_call_us(lambda: json.loads(text)),
        "orjson": _optional(
            "orjson", lambda orjson: lambda: per_call_us(lambda: orjson.loads(text))
        ),
    }


def _strategic(size: int) -> AbstractContextManager[Contenders]:
    from quarterdeck.wire import strategic

    pod = _pod(1, containers=size)
    changes = [{"name": f"c{index}", "image": "new"} for index in range(0, size, 2)]
    patch = {"spec": {"containers": changes}}
    node = _pod_node()

    def merge() -> object:
        return strategic.apply(pod, patch, node)

    return _alone(merge)


def _strategic_deployment() -> AbstractContextManager[Contenders]:
    """A new image, a changed variable, a removed one and a label, as a rollout sends them."""
    from quarterdeck.meta import builtins
    from quarterdeck.meta.identity import GVK
    from quarterdeck.wire import strategic

    pod = _pod(1, containers=3)
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": pod["metadata"],
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web-1"}},
            "template": {"metadata": {"labels": {"app": "web-1"}}, "spec": pod["spec"]},
        },
    }
    env = [{"name": "KEY_1", "value": "new"}, {"name": "KEY_2", "$patch": "delete"}]
    container = {"name": "c1", "image": "registry.example/app:new", "env": env}
    patch = {
        "metadata": {"labels": {"release": "new"}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    node = builtins.find_node(GVK("apps", "v1", "Deployment"))
    if node is None:
        raise AssertionError("there is no schema of a Deployment")
    schema = node
    return _alone(lambda: strategic.apply(deployment, patch, schema))


def _apply_custom(size: int) -> AbstractContextManager[Contenders]:
    """One applied field of a resource changes; a fifth of its fields stands in a keyed list."""
    from quarterdeck.meta.schema import from_openapi
    from quarterdeck.wire.apply.manager import FieldManager

    text = {"type": "string"}
    listed = size // 10
    plain = size - 2 * listed
    rows = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": text, "value": text}},
    }
    fields = {f"field{number}": text for number in range(plain)}
    spec = {"type": "object", "properties": {**fields, "rows": rows}}
    manager = FieldManager(
        from_openapi({"type": "object", "properties": {"spec": spec}}), "stable.example.com/v1"
    )
    config = {
        "apiVersion": "stable.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {
            **dict.fromkeys(fields, "value"),
            "rows": [{"name": f"row{number}", "value": "v"} for number in range(listed)],
        },
    }
    now = "2026-01-01T00:00:00Z"
    live = manager.apply(None, config, manager="bench", force=False, now=now)
    changed = json.loads(json.dumps(config))
    changed["spec"]["field0"] = "new"

    def apply() -> object:
        return manager.apply(live, changed, manager="bench", force=False, now=now)

    return _alone(apply)


def _apply(size: int) -> AbstractContextManager[Contenders]:
    from quarterdeck.wire.apply.manager import FieldManager

    manager = FieldManager(_pod_node(), "v1")
    config = _pod(1, containers=size)
    del config["status"], config["metadata"]["uid"], config["metadata"]["resourceVersion"]
    now = "2026-01-01T00:00:00Z"
    live = manager.apply(None, config, manager="bench", force=False, now=now)
    changed = json.loads(json.dumps(config))
    changed["spec"]["containers"][0]["image"] = "registry.example/app:new"

    def apply() -> object:
        return manager.apply(live, changed, manager="bench", force=False, now=now)

    return _alone(apply)


@contextmanager
def _alone(work: Callable[[], object]) -> Iterator[Contenders]:
    """Nothing else in Python does this; what counts is how it grows."""
    yield {OURS: lambda: per_call_us(work)}


def _pod_node() -> Any:
    from quarterdeck.meta import builtins
    from quarterdeck.meta.identity import GVK

    return builtins.find_node(GVK("", "v1", "Pod"))


SUITE = Suite(
    name="wire",
    title="JSON, selectors, watch frames, patches and server-side apply",
    cases=cases,
    versions=("msgspec", "orjson"),
)
