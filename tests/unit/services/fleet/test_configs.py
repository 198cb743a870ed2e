"""One configuration a collector, computed once and shared where it can be."""

from typing import Any

import msgspec

from quarterdeck.services.fleet.configs import Configs
from quarterdeck.services.fleet.pipelines import Pipelines
from quarterdeck.services.fleet.records import OTEL, Collector, Pipeline

ATTRIBUTES = 'prometheus.scrape "x" { job_name = argument.attributes.value["host"] }\n'


def pipeline(identity: str, contents: str = "", **more: Any) -> Pipeline:
    return Pipeline(
        id=identity, name=f"p{identity}", contents=contents, matchers=("env=prod",), **more
    )


def collector(identity: str, **attributes: str) -> Collector:
    return Collector(id=identity, local_attributes={"env": "prod", **attributes})


def test_collectors_with_the_same_pipelines_share_one_text() -> None:
    configs = Configs(Pipelines([pipeline("1"), pipeline("2")], []))
    one, other = (
        configs.get_merged(collector("a", host="x")),
        configs.get_merged(collector("b", host="y")),
    )
    assert one is other
    assert configs.get_merged(collector("c", env="dev")).content == "// fleet: 0 pipelines\n"


def test_a_pipeline_that_reads_attributes_makes_a_text_of_its_own() -> None:
    configs = Configs(Pipelines([pipeline("1", ATTRIBUTES)], []))
    one, other = (
        configs.get_merged(collector("a", host="x")),
        configs.get_merged(collector("b", host="y")),
    )
    assert one.hash != other.hash
    assert '"host" = "x"' in one.content and '"host" = "y"' in other.content


def test_a_text_is_computed_anew_only_when_its_input_changed() -> None:
    pipelines = Pipelines([pipeline("1", ATTRIBUTES)], [])
    configs = Configs(pipelines)
    asked = collector("a", host="x")
    first = configs.get_merged(asked)
    assert configs.get_merged(msgspec.structs.replace(asked, last_seen="now", name="n")) is first
    moved = msgspec.structs.replace(asked, remote_attributes={"host": "z"})
    assert '"host" = "z"' in configs.get_merged(moved).content
    pipelines.store(pipeline("2"), "now")
    assert "pipe_p2" in configs.get_merged(asked).content
    configs.forget("a")
    assert configs.get_merged(asked) is not first


def test_switched_off_means_no_pipelines_and_types_do_not_mix() -> None:
    yaml = "receivers: {otlp: {}}\n"
    configs = Configs(Pipelines([pipeline("1"), pipeline("2", yaml, config_type=OTEL)], []))
    asked = collector("a")
    off = msgspec.structs.replace(asked, enabled=False)
    assert (
        configs.list_matching(off) == []
        and configs.get_merged(off).content == "// fleet: 0 pipelines\n"
    )
    assert [each.id for each in configs.list_matching(asked)] == ["1"]
    other = msgspec.structs.replace(asked, collector_type="COLLECTOR_TYPE_OTEL")
    assert [each.id for each in configs.list_matching(other)] == ["2"]
    assert "receivers:" in configs.get_merged(other).content
