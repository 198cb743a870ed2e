"""Ids that carry the name of their pipeline: pipelines that would contradict each other fit."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import yaml
from quarterdeck.telemetry import otel
from quarterdeck.telemetry.isolation import isolate
from quarterdeck.telemetry.merge import Part, merge_otel

TEXT = """
receivers: {otlp: {protocols: {http: {auth: {authenticator: basicauth/server}}}}}
processors: {batch: {}, batch/slow: {timeout: 10s}}
exporters:
  otlp: {endpoint: "x:4317", sending_queue: {storage: file_storage}}
  debug: {verbosity: basic}
connectors: {routing: {default_pipelines: [logs/out], table: [{pipelines: [logs/out, logs/else]}]}}
extensions: {basicauth/server: {}, file_storage: {directory: /tmp}}
service:
  extensions: [basicauth/server, file_storage]
  telemetry: {logs: {level: info}}
  pipelines:
    logs: {receivers: [otlp], processors: [batch, batch/slow], exporters: [routing]}
    logs/out: {receivers: [routing], exporters: [otlp, debug]}
"""


def test_every_id_and_every_reference_carries_the_name() -> None:
    found = yaml.load(isolate(TEXT, "web"))
    assert list(found["receivers"]) == ["otlp/__web"]
    assert list(found["processors"]) == ["batch/__web", "batch/slow__web"]
    settings = found["receivers"]["otlp/__web"]["protocols"]["http"]["auth"]
    assert settings == {"authenticator": "basicauth/server__web"}
    exporter = found["exporters"]["otlp/__web"]
    assert exporter == {"endpoint": "x:4317", "sending_queue": {"storage": "file_storage/__web"}}
    routing = found["connectors"]["routing/__web"]
    assert routing["default_pipelines"] == ["logs/out__web"]
    assert routing["table"] == [{"pipelines": ["logs/out__web", "logs/else"]}]
    assert found["service"]["extensions"] == ["basicauth/server__web", "file_storage/__web"]
    assert found["service"]["telemetry"] == {"logs": {"level": "info"}}
    assert found["service"]["pipelines"]["logs/__web"] == {
        "receivers": ["otlp/__web"],
        "processors": ["batch/__web", "batch/slow__web"],
        "exporters": ["routing/__web"],
    }
    assert otel.check(isolate(TEXT, "web")) == []


def test_pipelines_that_contradict_each_other_fit_when_isolated() -> None:
    other = TEXT.replace("basic}", "detailed}")
    parts = [Part(name="a", contents=TEXT), Part(name="b", contents=other)]
    assert merge_otel(parts).conflicts == ("b",)
    isolated = [Part(name=each.name, contents=isolate(each.contents, each.name)) for each in parts]
    merged = merge_otel(isolated)
    assert merged.conflicts == ()
    document = yaml.load(merged.content)
    assert document["exporters"]["debug/__a"] == {"verbosity": "basic"}
    assert document["exporters"]["debug/__b"] == {"verbosity": "detailed"}


def test_a_text_that_is_no_configuration_is_left_to_the_checks() -> None:
    for text in ("a: [", "just words", ""):
        assert isolate(text, "web") == text


NAMES = st.text(min_size=1, max_size=300)


@given(NAMES)
def test_any_name_gives_a_valid_configuration(name: str) -> None:
    assert otel.check(isolate(TEXT, name)) == []


@given(st.lists(NAMES, min_size=2, max_size=4, unique=True), st.data())
def test_isolated_pipelines_never_contradict_each_other(names: list[str], data: Any) -> None:
    levels = data.draw(st.lists(st.integers(), min_size=len(names), max_size=len(names)))
    parts = [
        Part(name=name, contents=isolate(TEXT.replace("10s", str(level)), name))
        for name, level in zip(names, levels, strict=True)
    ]
    assert merge_otel(parts).conflicts == ()
