"""Feature flags: which ConfigMaps count, and what is said about the others."""

import logging

import pytest

from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines.features import Features
from quarterdeck.operators.machines.records import ConfigRecord


def record(namespace: str, purpose: str = "features", **data: str) -> ConfigRecord:
    labels = {"hyperfleet.io/config": purpose}
    return ConfigRecord(
        metadata=ObjectMeta(name="flags", namespace=namespace, labels=labels), data=data
    )


def test_flags_change_and_come_back() -> None:
    features = Features()
    assert features.load([record("default", repair="off", expiry="FALSE")])
    assert (features.flags.repair, features.flags.expiry) == (False, False)
    assert features.flags.orphan_collection
    assert features.load([])
    assert features.flags.repair
    assert not features.load([record("default", "simulator", repair="off")])


def test_other_namespaces_cannot_change_flags(caplog: pytest.LogCaptureFixture) -> None:
    features = Features(namespace="quarterdeck-system")
    with caplog.at_level(logging.WARNING):
        assert not features.load([record("tenant", repair="false")])
        assert not features.load([record("tenant", repair="false")])
    assert len(caplog.records) == 1
    assert features.load([record("quarterdeck-system", repair="false")])
    assert not features.flags.repair


def test_unknown_flags_and_values_are_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    features = Features()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert not features.load([record("default", repair="perhaps", dance="true")])
    assert len(caplog.records) == 2
    unknown, wrong = sorted(vars(each)["fields"]["detail"] for each in caplog.records)
    assert unknown.startswith("default/flags has dance: 'true'; known flags: repair,")
    assert wrong == "default/flags has repair: 'perhaps'; set true or false"
