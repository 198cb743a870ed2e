"""The dashboard and the alert rules speak of metrics that exist."""

import re

import pytest

from quarterdeck.app.monitoring import build_dashboard, declare_metrics, list_alerts
from quarterdeck.kit.metrics import Registry

FUNCTIONS = {"sum", "rate", "increase", "histogram_quantile", "by", "le"}


def names(expression: str) -> set[str]:
    return set(re.findall(r"\b(fleet_\w+)", expression))


def test_every_metric_has_a_panel_with_its_own_words() -> None:
    registry = declare_metrics()
    panels = {each["description"]: each for each in build_dashboard(registry)["panels"]}
    assert set(panels) == {each.name for each in registry.families}
    for family in registry.families:
        panel = panels[family.name]
        assert panel["title"] == family.text
        for target in panel["targets"]:
            assert names(target["expr"]) <= {family.name, f"{family.name}_bucket"}
            assert all(label in target["expr"] for label in family.label_names) or (
                family.kind == "histogram"
            )
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels.values()]
    assert len(set(places)) == len(places)


def test_alerts_name_declared_metrics_and_labels() -> None:
    registry = declare_metrics()
    known = {each.name: each for each in registry.families}
    alerts = list(list_alerts(registry))
    assert len({each["alert"] for each in alerts}) == len(alerts) >= 5
    for alert in alerts:
        (name,) = names(alert["expr"])
        family = known[name.removesuffix("_bucket")]
        used = set(re.findall(r"(\w+)=\"", alert["expr"]))
        used |= set(re.findall(r"labels\.(\w+)", alert["annotations"]["summary"]))
        assert used <= set(family.label_names)


def test_an_alert_over_an_unknown_metric_is_an_error() -> None:
    with pytest.raises(KeyError):
        list(list_alerts(Registry()))
