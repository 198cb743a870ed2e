"""Spans of reconciles and requests, where OpenTelemetry is installed."""

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client.interfaces import Exchange
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime.observability import tracing
from quarterdeck.wire.path import ResourcePath

sdk = pytest.importorskip("opentelemetry.sdk.trace")


def test_requests_join_the_span_of_their_reconcile() -> None:
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = tracing.Tracer(provider.get_tracer("test"))
    path = ResourcePath("", "v1", "configmaps", "ns", "a")
    subject = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns"))
    try:
        with tracer.reconcile("demo", subject, "id-1", 0.5):
            ((name, parent),) = tracer.before("get", path)
            tracer.after(Exchange("get", "GET", "host", path, 200, 0.01, 0, 10))
            fields = tracing.get_log_fields()
        assert tracer.before("get", path) == ()
    finally:
        tracing._active.clear()
    request, reconcile = exporter.get_finished_spans()
    assert name == "traceparent"
    assert f"{reconcile.context.trace_id:032x}" in parent
    assert fields["trace_id"] == f"{reconcile.context.trace_id:032x}"
    assert request.parent.span_id == reconcile.context.span_id
    assert reconcile.attributes["queue.wait_seconds"] == 0.5


def test_traces_are_off_unless_asked_for() -> None:
    assert not tracing.is_enabled({})
    assert not tracing.is_enabled({"OTEL_TRACES_EXPORTER": "none"})
    assert not tracing.is_enabled(
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
    )
    assert tracing.is_enabled({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
    assert tracing.create_tracer("x", {"OTEL_SDK_DISABLED": "true"}) is None


def test_without_a_tracer_spans_and_ids_cost_nothing() -> None:
    with tracing.span("call", {"a": 1}):
        assert tracing.get_log_fields() == {}


def test_calls_of_outside_systems_join_the_running_span() -> None:
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = tracing.Tracer(provider.get_tracer("test"))
    try:
        assert tracing.get_log_fields() == {}, "no span is running"
        with tracer.start("outer", {}), tracing.span("create vm", {"host": "pve1"}):
            pass
    finally:
        tracing._active.clear()
    inner, outer = exporter.get_finished_spans()
    assert inner.parent.span_id == outer.context.span_id
    assert dict(inner.attributes) == {"host": "pve1"}
