"""OpenTelemetry configurations: everything wrong is said, with its place."""

import pytest

from quarterdeck.telemetry import otel

GOOD = """
receivers: {otlp: {}}
processors: {batch: null}
exporters: {debug/a: {}}
connectors: {count: {}}
extensions: {health_check: {}}
service:
  extensions: [health_check]
  pipelines:
    traces: {receivers: [otlp], processors: [batch], exporters: [count]}
    metrics/b: {receivers: [count], exporters: [debug/a]}
"""


def test_a_wired_configuration_has_no_findings() -> None:
    assert otel.check(GOOD) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(GOOD, "a: [", "", id="no YAML"),
        pytest.param(
            GOOD, "- a", "an OpenTelemetry configuration must be a YAML mapping", id="no mapping"
        ),
        pytest.param(
            "connectors:", "conectors:", "unknown section 'conectors'; sections are", id="unknown"
        ),
        pytest.param(
            "receivers: {otlp: {}}",
            "receivers: [otlp]",
            "receivers must be a mapping of component ids",
            id="section as list",
        ),
        pytest.param(
            "debug/a: {}",
            '"debug/a": {}, "2nd": {}',
            "exporters.2nd: an id is `type` or `type/name`",
            id="bad id",
        ),
        pytest.param(
            "{otlp: {}}",
            "{otlp: text}",
            "receivers.otlp: settings must be a mapping",
            id="settings",
        ),
        pytest.param(
            "[health_check]",
            "[pprof]",
            "service.extensions: 'pprof' is not among extensions",
            id="extension",
        ),
        pytest.param(
            "[health_check]",
            "health_check",
            "service.extensions must be a list of component ids",
            id="extensions as text",
        ),
        pytest.param(
            "[health_check]",
            "[[health_check]]",
            "service.extensions: ['health_check'] is not among extensions",
            id="extension as list",
        ),
        pytest.param(
            "traces:", "spans:", "a pipeline is one of traces, metrics, logs", id="signal"
        ),
        pytest.param(
            "{receivers: [count], exporters: [debug/a]}",
            "[count]",
            "service.pipelines.metrics/b must be a mapping",
            id="pipeline as list",
        ),
        pytest.param(
            "receivers: [count], ",
            "",
            "service.pipelines.metrics/b.receivers must have at least one component",
            id="no receiver",
        ),
        pytest.param(
            "processors: [batch]",
            "processors: [batsh]",
            "service.pipelines.traces.processors: 'batsh' is not among processors",
            id="unknown processor",
        ),
        pytest.param(
            "receivers: [otlp]",
            "receivers: 5",
            "service.pipelines.traces.receivers must be a list of component ids",
            id="receivers as number",
        ),
        pytest.param(
            "processors: [batch]",
            "processors: batch",
            "service.pipelines.traces.processors must be a list of component ids",
            id="processors as text",
        ),
        pytest.param(
            "exporters: [count]",
            "exporters: [{count: null}]",
            "service.pipelines.traces.exporters: {'count': None} is not among exporters",
            id="exporter as mapping",
        ),
        pytest.param(
            ", processors: [batch]",
            "",
            "processors.batch is not used by any pipeline",
            id="unused component",
        ),
    ],
)
def test_what_is_wrong_is_named(before: str, after: str, expected: str) -> None:
    contents = GOOD.replace(before, after)
    assert contents != GOOD
    messages = [finding.message for finding in otel.check(contents)]
    assert any(expected in message for message in messages), messages


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ("receivers: {otlp: {}}", "service is missing: it names the pipelines to run"),
        ("service: {pipelines: {}}", "service.pipelines must have at least one pipeline"),
        ("service: {pipelines: []}", "service.pipelines must have at least one pipeline"),
    ],
)
def test_a_service_has_pipelines(contents: str, expected: str) -> None:
    assert expected in [finding.message for finding in otel.check(contents)]
