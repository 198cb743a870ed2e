"""Who sets which attribute of a collector, and what is changed for it."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.apis.fleetmanagement.external_sync import AttributeMapping
from quarterdeck.apis.fleetmanagement.policies import CollectorSelector
from quarterdeck.operators.pipelines.attributes import (
    Layer,
    plan_operations,
    resolve_owners,
    select_collectors,
)
from quarterdeck.operators.pipelines.external_sync import map_records
from quarterdeck.operators.pipelines.ports import RemoteCollector
from quarterdeck.services.fleet.collectors import apply_operations
from quarterdeck.services.fleet.records import Collector

attributes = st.dictionaries(
    st.sampled_from(["env", "a/b", "a~b", "x.y"]), st.sampled_from(["1", "2", "3"])
)


@given(attributes, attributes, attributes)
def test_operations_lead_to_what_is_wanted_and_spare_what_is_foreign(
    wanted: dict[str, str], live: dict[str, str], owned: dict[str, str]
) -> None:
    operations = plan_operations(wanted, live, owned)
    before = Collector(id="e", remote_attributes=live)
    after = apply_operations(before, operations, "now").remote_attributes
    foreign = {k: v for k, v in live.items() if k not in wanted and owned.get(k) != v}
    assert dict(after) == {**foreign, **wanted}
    assert plan_operations(wanted, after, owned) == []
    assert [each["path"] for each in operations] == sorted(each["path"] for each in operations)


def test_the_first_layer_that_wants_an_attribute_has_it() -> None:
    owners = resolve_owners(
        [
            Layer("ExternalAttributeSync", "default/cmdb", {"env": "prod"}),
            Layer("Collector", "default/edge", {"env": "test", "team": "a"}),
            Layer("RemoteAttributePolicy", "default/all", {"team": "b", "zone": "z"}),
        ]
    )
    assert [(each.key, each.value, each.owner_name) for each in owners] == [
        ("env", "prod", "default/cmdb"),
        ("team", "a", "default/edge"),
        ("zone", "z", "default/all"),
    ]


def test_selectors_see_what_a_collector_reports_and_both_names_of_its_id() -> None:
    fleet = [
        RemoteCollector(id="edge-1", local={"env": "prod"}),
        RemoteCollector(id="edge-2", local={"env": "test"}, remote={"env": "prod"}),
    ]

    def ids(**selector: tuple[str, ...]) -> list[str]:
        chosen = select_collectors(CollectorSelector(**selector), fleet, empty_selects_all=False)
        return [each.id for each in chosen]

    assert ids(matchers=("env=prod",)) == ["edge-1"]
    assert ids(matchers=("collector.ID=edge-2",)) == ids(matchers=("collector.id=edge-2",))
    assert ids(matchers=("env=prod",), collector_ids=("edge-2",)) == ["edge-1", "edge-2"]
    assert ids() == []


def test_records_become_attributes() -> None:
    mapping = AttributeMapping(
        collector_id_field="host",
        attribute_fields={"env": "environment", "rack": "rack"},
        required_keys=("env",),
    )
    claims = map_records(
        mapping,
        [
            {"host": "edge-1", "environment": "prod", "rack": 7},
            {"host": "edge-2", "rack": 8},
            {"environment": "prod"},
            {"host": "edge-3", "environment": {"not": "text"}},
        ],
    )
    assert {key: dict(each.attributes) for key, each in claims.items()} == {
        "edge-1": {"env": "prod", "rack": "7"}
    }
