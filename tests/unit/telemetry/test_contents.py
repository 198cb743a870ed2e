import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import yaml
from quarterdeck.telemetry import contents, merge, otel
from quarterdeck.telemetry.alloy.parser import parse
from quarterdeck.telemetry.alloy.tree import Block
from quarterdeck.telemetry.contents import ConfigType, check, is_equivalent
from quarterdeck.telemetry.findings import Severity, select_errors
from quarterdeck.telemetry.merge import Part, merge_alloy, merge_otel

OTEL = """
receivers:
  otlp:
    protocols: {grpc: {}}
processors:
  batch: {}
exporters:
  debug: {}
service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [batch]
      exporters: [debug]
"""
SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'


def messages(contents: str, config_type: ConfigType = ConfigType.OPEN_TELEMETRY) -> list[str]:
    return [str(each) for each in check(contents, config_type)]


def test_a_wired_configuration_has_no_findings() -> None:
    assert messages(OTEL) == []
    assert messages(SCRAPE, ConfigType.ALLOY) == []


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("receivers: [otlp]", "receivers: [otpl]", "'otpl' is not among receivers"),
        ("exporters: [debug]", "exporters: []", "exporters must have at least one"),
        ("    traces:", "    spans:", "service.pipelines.spans: a pipeline is one of"),
        ("processors:\n  batch", "procesors:\n  batch", "unknown section 'procesors'"),
        ("service:", "servise:", "service is missing"),
        ("  otlp:\n    protocols: {grpc: {}}", "  otlp: 3", "settings must be a mapping"),
    ],
)
def test_what_is_not_wired_is_named(before: str, after: str, message: str) -> None:
    assert any(message in each for each in messages(OTEL.replace(before, after, 1)))


def test_an_unused_component_is_only_a_warning() -> None:
    findings = otel.check(OTEL.replace("  debug: {}", "  debug: {}\n  spare: {}"))
    assert [each.severity for each in findings] == [Severity.WARNING]
    assert select_errors(findings) == []


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("  \n", "the contents are empty"),
        ("a {", "line 1, column 4: expected }, got EOF"),
        (OTEL, "set configType: OpenTelemetryCollector"),
        ('logging {\n level = "debug"\n}', "configures the collector"),
        ("x = 1", "is not allowed outside a block"),
        (SCRAPE + SCRAPE, "declared twice"),
    ],
)
def test_alloy_that_cannot_be_a_pipeline_is_refused(contents: str, message: str) -> None:
    assert any(message in each for each in messages(contents, ConfigType.ALLOY))


def test_yaml_errors_carry_their_place() -> None:
    assert messages("a: [") == ["line 2, column 1: did not find expected node content"]


def test_formatting_is_no_difference() -> None:
    assert is_equivalent(
        OTEL, OTEL.replace("{grpc: {}}", "\n      grpc: {}"), ConfigType.OPEN_TELEMETRY
    )
    assert not is_equivalent(OTEL, OTEL.replace("debug", "otlp"), ConfigType.OPEN_TELEMETRY)
    assert is_equivalent(SCRAPE, SCRAPE.replace("  targets", "targets"), ConfigType.ALLOY)


def test_a_switch_and_a_number_are_a_difference() -> None:
    alloy, otel_text = 'loki.write "x" {{\n  a = [{}]\n}}\n'.format, "a: [{{b: {}}}]\n".format
    assert not is_equivalent(alloy("1"), alloy("true"), ConfigType.ALLOY)
    assert is_equivalent(alloy("1"), alloy("1.0"), ConfigType.ALLOY)
    assert is_equivalent(alloy("true"), alloy(" true "), ConfigType.ALLOY)
    assert not is_equivalent(otel_text("0"), otel_text("false"), ConfigType.OPEN_TELEMETRY)
    assert is_equivalent(otel_text("0"), otel_text("0.0"), ConfigType.OPEN_TELEMETRY)
    assert not is_equivalent("a: [1]", "a: [1, 2]", ConfigType.OPEN_TELEMETRY)


def test_no_pipelines_give_a_comment_with_a_known_hash() -> None:
    merged = merge_alloy([], {})
    assert merged.content == "// fleet: 0 pipelines\n"
    assert merged.hash == "0f6fe44fdee05c4b57b567f67f61d13559c45a245cdeaedb442aa43247936717"


def test_each_pipeline_becomes_a_component_of_its_own() -> None:
    merged = merge_alloy([Part(name="b.2", contents=SCRAPE), Part(name="a", contents=SCRAPE)], {})
    blocks = [each for each in parse(merged.content) if isinstance(each, Block)]
    assert [(each.name, each.label) for each in blocks] == [
        ("declare", "pipe_a"),
        ("pipe_a", "default"),
        ("declare", "pipe_b_2"),
        ("pipe_b_2", "default"),
    ]


def test_attributes_are_given_only_to_pipelines_that_read_them() -> None:
    reads = 'x "y" {\n  v = argument.attributes.value["env"]\n}\n'
    plain = merge_alloy([Part(name="p", contents=SCRAPE)], {"env": "prod"})
    given = merge_alloy([Part(name="p", contents=reads)], {"env": 'pr"od'})
    assert "attributes" not in plain.content
    assert 'attributes = {"env" = "pr\\"od"}' in given.content
    assert given.content.count('argument "attributes"') == 1
    parse(given.content)


@given(st.lists(st.text(max_size=8), unique=True, max_size=5))
def test_the_order_of_pipelines_does_not_change_the_hash(names: list[str]) -> None:
    parts = [Part(name=name, contents=SCRAPE) for name in names]
    shuffled = list(reversed(parts))
    merged = merge_alloy(parts, {})
    assert merged == merge_alloy(shuffled, {})
    assert merged.hash == hashlib.sha256(merged.content.encode()).hexdigest()
    parse(merged.content)


def test_names_that_collide_get_a_suffix() -> None:
    merged = merge_alloy([Part(name=n, contents=SCRAPE) for n in ("a.b", "a-b", "a_b")], {})
    labels = [each.label for each in parse(merged.content) if isinstance(each, Block)]
    assert len(set(labels) - {"default"}) == 3


def test_otel_pipelines_merge_and_a_conflict_keeps_the_first() -> None:
    extra = "exporters:\n  other: {}\nservice:\n  extensions: [health]\n"
    clash = "exporters:\n  debug: {verbosity: detailed}\n"
    merged = merge_otel(
        [
            Part(name="a", contents=OTEL),
            Part(name="b", contents=extra),
            Part(name="c", contents="service:\n  extensions: [pprof]\n"),
            Part(name="z", contents="exporters:\n  debug: [1]\n"),
        ]
    )
    assert merged.conflicts == ("z",)
    assert "- health\n" in merged.content
    assert "- pprof\n" in merged.content
    assert "other: {}" in merged.content
    assert merge.merge_otel([Part(name="c", contents=clash)]).conflicts == ()


@pytest.mark.parametrize(
    "line", ["processors:", "extensions:", "service: {extensions: null, telemetry: null}"]
)
@pytest.mark.parametrize("empty_first", [True, False])
def test_otel_sections_without_a_value_conflict_with_nothing(line: str, empty_first: bool) -> None:
    full = OTEL + "  extensions: [health]\n  telemetry: {logs: {level: info}}\n"
    full += "extensions: {health: {}}\n"
    parts = [Part(name="b", contents=full), Part(name="a" if empty_first else "c", contents=line)]
    merged = merge_otel(parts)
    assert merged.conflicts == ()
    document = yaml.load(merged.content)
    assert document["processors"] == {"batch": {}}
    assert document["extensions"] == {"health": {}}
    assert document["service"]["extensions"] == ["health"]
    assert document["service"]["telemetry"] == {"logs": {"level": "info"}}


def test_contents_are_checked_once_and_each_caller_gets_a_list_of_its_own() -> None:
    contents._check_small.cache_clear()
    wrong = "loki.write {"
    first = check(wrong, ConfigType.ALLOY)
    first.clear()
    assert select_errors(check(wrong, ConfigType.ALLOY))
    assert check(wrong, ConfigType.OPEN_TELEMETRY) != check(wrong, ConfigType.ALLOY)
    assert contents._check_small.cache_info().misses == 2
