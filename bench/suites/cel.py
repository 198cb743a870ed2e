"""CRD rules in Kubernetes' expression language, against Google's C++ implementation.

Each contender is given the object as it is at hand, a dictionary; turning it into the evaluator's
own values is part of the cost, as it is in a server.
"""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bench.suite import OURS, Case, Contenders, Measure, Missing, Scale, Suite
from bench.timing import per_call_us

PEER = "cel-expr-python (C++)"

RULES = {
    "compare two fields": "self.minReplicas <= self.replicas",
    "has and not empty": "has(self.image) && self.image != ''",
    "regular expression": "self.image.matches('^[a-z0-9./:-]+$')",
    "all of a list": "self.ports.all(p, p.port > 0 && p.port < 65536)",
    "transition": "self.replicas >= oldSelf.replicas",
}
LIST_RULE = "self.ports.all(p, p.port > 0 && p.port < 65536)"

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "minReplicas": {"type": "integer"},
        "replicas": {"type": "integer"},
        "image": {"type": "string", "maxLength": 200},
        "ports": {
            "type": "array",
            "maxItems": 10000,
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
            },
        },
    },
}


def cases(scale: Scale) -> Sequence[Case]:
    sizes = scale.pick((4, 16, 64), (4, 16, 64, 256), (4, 16, 64, 256, 1024, 4096))
    runs = [
        Case(name=f"run: {name}", unit="µs", open=_opener(_run, rule), note=rule)
        for name, rule in RULES.items()
    ]
    compiles = [
        Case(name=f"compile: {name}", unit="µs", open=_opener(_compile, rule), note=rule)
        for name, rule in RULES.items()
    ]
    return [
        *runs,
        *compiles,
        Case(name="all of a list, growth", unit="µs", open=_growth, sizes=sizes, note=LIST_RULE),
    ]


def _opener(way: Callable[[str], Any], rule: str) -> Callable[[int], Any]:
    return lambda _: way(rule)


def _object(ports: int) -> dict[str, Any]:
    return {
        "minReplicas": 1,
        "replicas": 3,
        "image": "registry.example/team/app:1.2.3",
        "ports": [{"name": f"p{index}", "port": 1000 + index} for index in range(ports)],
    }


@contextmanager
def _run(rule: str) -> Iterator[Contenders]:
    yield _contenders(rule, _object(4))


@contextmanager
def _growth(size: int) -> Iterator[Contenders]:
    yield _contenders(LIST_RULE, _object(size))


def _contenders(rule: str, value: dict[str, Any]) -> Contenders:
    program = _environment().compile(rule)
    variables = {"self": value, "oldSelf": value}
    if program.evaluate(variables) is not True:
        raise AssertionError(f"{rule} must hold for the object of the benchmark")
    return {
        OURS: lambda: per_call_us(lambda: program.evaluate(variables)),
        PEER: _peer(rule, variables),
    }


def _peer(rule: str, variables: dict[str, Any]) -> Measure | Missing:
    if (reason := _missing()) is not None:
        return reason
    environment = _peer_environment()
    expression = environment.compile(rule)
    if expression.eval(data=variables).value() is not True:
        raise AssertionError(f"{PEER} does not find {rule} true")
    return lambda: per_call_us(lambda: expression.eval(data=variables).value())


@contextmanager
def _compile(rule: str) -> Iterator[Contenders]:
    environment = _environment()
    peer: Measure | Missing
    if (reason := _missing()) is not None:
        peer = reason
    else:
        theirs = _peer_environment()

        def peer() -> float:
            return per_call_us(lambda: theirs.compile(rule))

    yield {OURS: lambda: per_call_us(lambda: environment.compile(rule)), PEER: peer}


def _environment() -> Any:
    from quarterdeck.cel import Environment
    from quarterdeck.meta.schema import from_openapi

    return Environment.for_schema(from_openapi(SCHEMA), old_self=True)


def _missing() -> Missing | None:
    if importlib.util.find_spec("cel_expr_python") is None:
        return Missing("cel-expr-python is not installed")
    return None


def _peer_environment() -> Any:
    from cel_expr_python import cel

    return cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN})


SUITE = Suite(
    name="cel",
    title="Kubernetes' expression language",
    cases=cases,
    versions=("cel-expr-python",),
)
