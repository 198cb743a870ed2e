"""Traces through OpenTelemetry, if it is installed and asked for by the OTEL_* variables.

One span per reconcile, one per API request inside it, and `traceparent` on the wire, so that the
server's spans join. Nothing is imported and nothing costs anything otherwise.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.client.interfaces import Exchange
from quarterdeck.meta.objects import Object
from quarterdeck.wire.path import ResourcePath

_SWITCHES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_active: list["Tracer"] = []


def is_enabled(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the OTEL_* variables ask for traces."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    if exporter := environment.get("OTEL_TRACES_EXPORTER", ""):
        return exporter != "none"  # the address of a collector may be there for metrics or logs
    return any(environment.get(name) for name in _SWITCHES)


def create_tracer(service: str, environment: Mapping[str, str] = os.environ) -> "Tracer | None":
    """A tracer if one is wanted and the SDK is installed, else None.

    `service` is the name without OTEL_SERVICE_NAME, which wins.
    """
    if not is_enabled(environment):
        return None
    service = environment.get("OTEL_SERVICE_NAME") or service
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
    except ImportError:
        return None
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    if environment.get("OTEL_TRACES_EXPORTER") == "console":
        provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter()))
    else:
        with contextlib.suppress(ImportError):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return Tracer(provider.get_tracer("quarterdeck"))


class Tracer:
    """Makes spans; also an observer of the client's requests."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        _active[:] = [self]

    @contextlib.contextmanager
    def reconcile(
        self, controller: str, obj: Object, reconcile_id: str, waited_s: float
    ) -> Iterator[None]:
        """The span of one reconcile; time in the queue is an attribute."""
        attributes = {
            "controller": controller,
            "k8s.object.kind": obj.KIND.kind,
            "k8s.namespace.name": obj.metadata.namespace,
            "k8s.object.name": obj.metadata.name,
            "k8s.object.resource_version": obj.metadata.resource_version,
            "reconcile.id": reconcile_id,
            "queue.wait_seconds": waited_s,
        }
        name = f"reconcile {controller}"
        with self._tracer.start_as_current_span(name, attributes=attributes):
            yield

    def start(self, name: str, attributes: Mapping[str, str | int | float]) -> Any:
        """A span that is the running one while its context lasts."""
        return self._tracer.start_as_current_span(name, attributes=dict(attributes))

    def before(self, verb: str, path: ResourcePath) -> Sequence[tuple[str, str]]:
        """The `traceparent` header of the running span."""
        context = _get_span_context()
        if context is None:
            return ()
        flags = f"{int(context.trace_flags):02x}"
        return (("traceparent", f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags}"),)

    def after(self, exchange: Exchange) -> None:
        """One span per request, dated back to its start."""
        import time

        end = time.time_ns()
        span = self._tracer.start_span(
            f"{exchange.verb} {exchange.path.resource}",
            start_time=end - int(exchange.duration_s * 1e9),
            attributes={
                "http.request.method": exchange.method,
                "http.response.status_code": exchange.code,
                "server.address": exchange.host,
                "k8s.resource": exchange.path.gvr.group_resource,
            },
        )
        span.end(end_time=end)


@contextlib.contextmanager
def span(name: str, attributes: Mapping[str, str | int | float]) -> Iterator[None]:
    """A span within the running one, for calls of outside systems; nothing without a tracer."""
    if not _active:
        yield
        return
    with _active[0].start(name, attributes):
        yield


def _get_span_context() -> Any:
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    return context if context.is_valid else None


def get_log_fields() -> dict[str, object]:
    """Ids for log lines; empty without a tracer or a running span."""
    if not _active:
        return {}
    context = _get_span_context()
    if context is None:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
