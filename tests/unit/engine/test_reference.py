"""What the reference and the guide state about the language is true."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.unit.engine.sources import NOW, evaluate

from quarterdeck.apis.clusterpulse.metric_source import (
    AggregationFunction,
    ComputedType,
    FieldType,
    FilterOperator,
    MetricSourceSpec,
)
from quarterdeck.apis.clusterpulse.v1alpha1 import MetricSource
from quarterdeck.app.cluster_samples import DEFAULT_METRIC_SOURCES, PVC_USAGE
from quarterdeck.engine import compile_source
from quarterdeck.engine.aggregation import FUNCTION_SUMMARIES
from quarterdeck.engine.conversion import CONVERTERS, TYPE_SUMMARIES
from quarterdeck.engine.expressions.functions import FUNCTIONS
from quarterdeck.engine.expressions.operators import CONDITION, OPERATORS, UNARY
from quarterdeck.engine.expressions.parser import LEVELS
from quarterdeck.engine.filters import OPERATOR_SUMMARIES
from quarterdeck.engine.paths import PATH_FORMS, parse_path
from quarterdeck.kit import yaml
from quarterdeck.meta.objects import decode

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "define-a-metric.md"
SHOWN = [(each.example, each.shows) for each in (CONDITION, *OPERATORS, *UNARY)]
SHOWN += [(each.example, each.shows) for each in FUNCTIONS.values()]


@pytest.mark.parametrize(("example", "shows"), SHOWN)
def test_examples_give_what_they_show(example: str, shows: str) -> None:
    wanted = json.loads(shows)
    type_: ComputedType = "string" if isinstance(wanted, str) else "float"
    if isinstance(wanted, bool):
        type_ = "boolean"
    assert evaluate(example, type_=type_) == wanted


def test_every_operator_is_listed() -> None:
    assert [each.symbol for each in OPERATORS] == [each for level in LEVELS for each in level]


def test_every_choice_of_the_kind_is_described() -> None:
    assert set(TYPE_SUMMARIES) == set(CONVERTERS) == set(get_args(FieldType))
    assert set(OPERATOR_SUMMARIES) == set(get_args(FilterOperator))
    assert set(FUNCTION_SUMMARIES) == set(get_args(AggregationFunction))


@pytest.mark.parametrize("path", PATH_FORMS)
def test_paths_of_the_reference_are_read(path: str) -> None:
    assert len(parse_path(path)) >= 2


def spec_of(document: Any) -> MetricSourceSpec:
    return decode(MetricSource, json.dumps(document).encode()).spec


@pytest.mark.parametrize(
    "sample", [*DEFAULT_METRIC_SOURCES, PVC_USAGE], ids=lambda sample: sample["metadata"]["name"]
)
def test_samples_compile(sample: Any) -> None:
    assert compile_source(spec_of(sample)).collector(now=NOW).finish() is not None


def test_the_manifest_of_the_guide_collects() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), flags=re.S)
    source = compile_source(spec_of(yaml.load("".join(blocks).encode())))
    collector = source.collector(now=NOW)
    claim = {
        "metadata": {
            "name": "data",
            "namespace": "shop",
            "creationTimestamp": "2026-11-15T10:00:00Z",
            "labels": {"example.com/team": "payments"},
        },
        "spec": {"resources": {"requests": {"storage": "5Gi"}}},
        "status": {"phase": "Pending"},
    }
    (row,) = collector.feed([claim]).resources()
    assert row.values["capacityGi"] is None
    assert row.values["waitingHours"] == 2.0
    assert row.values["label"] == "shop/data (payments)"
    assert row.values["storageClass"] == "none"
    found = collector.finish()
    assert (found["pending"], found["longestWait"]) == (1, 2.0)
    assert found["claimsByNamespace"] == {"shop": 1}
