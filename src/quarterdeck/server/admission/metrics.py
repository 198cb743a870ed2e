"""The metrics of webhooks and policies, under the names Kubernetes gives them.

Labels are names of webhooks, policies and bindings, which administrators write; the number of
series is bounded all the same.
"""

from typing import NamedTuple

from quarterdeck.kit.metrics import Registry

_WEBHOOK_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
_POLICY_BUCKETS = (0.0000005, 0.001, 0.01, 0.1, 1.0)
_HIGHEST_CODE = 600
_MAX_SERIES = 1000
NO_ERROR = "no_error"
CALLING_ERROR = "calling_webhook_error"
INVALID_ERROR = "invalid_error"
OUT_OF_BUDGET = "out_of_budget"
COMPILE_ERROR = "compile_error"


class WebhookCall(NamedTuple):
    """The labels of one call of a webhook."""

    name: str
    is_mutating: bool
    operation: str

    @property
    def type(self) -> str:
        """The kind of webhook, as the metrics of Kubernetes call it."""
        return "admit" if self.is_mutating else "validating"


class AdmissionMetrics:
    """Counts and times what webhooks and policies decide."""

    def __init__(self, registry: Registry) -> None:
        prefix, bound = "apiserver_admission_webhook_", _MAX_SERIES
        self._durations = registry.histogram(
            f"{prefix}admission_duration_seconds",
            "Latency of requests to admission webhooks, in seconds.",
            ("name", "type", "operation", "rejected"),
            buckets=_WEBHOOK_BUCKETS,
            max_series=bound,
        )
        self._requests = registry.counter(
            f"{prefix}request_total",
            "Requests to admission webhooks, by HTTP status code.",
            ("name", "type", "operation", "code", "rejected"),
            max_series=bound,
        )
        self._rejections = registry.counter(
            f"{prefix}rejection_count",
            "Writes rejected by an admission webhook, or because calling it failed.",
            ("name", "type", "operation", "error_type", "rejection_code"),
            max_series=bound,
        )
        self._open_failures = registry.counter(
            f"{prefix}fail_open_count",
            "Failed calls of admission webhooks that were ignored, as their failurePolicy says.",
            ("name", "type"),
            max_series=bound,
        )
        checks = ("policy", "policy_binding", "error_type")
        self._policies = {
            kind: (
                registry.counter(
                    f"apiserver_{kind}_admission_policy_check_total",
                    "Checks of admission policies, by result of their expressions.",
                    labels,
                    max_series=bound,
                ),
                registry.histogram(
                    f"apiserver_{kind}_admission_policy_check_duration_seconds",
                    "Duration of checks of admission policies, in seconds.",
                    labels,
                    buckets=_POLICY_BUCKETS,
                    max_series=bound,
                ),
            )
            for kind, labels in (
                ("validating", (*checks, "enforcement_action")),
                ("mutating", checks),
            )
        }

    def observe_webhook(
        self, call: WebhookCall, duration_s: float, *, code: int, error_type: str = ""
    ) -> None:
        """Count a call; `error_type` is set if the write was refused because of it."""
        shown, rejected = str(min(code, _HIGHEST_CODE)), str(bool(error_type)).lower()
        labels = (call.name, call.type, call.operation)
        self._durations.labels(*labels, rejected).observe(duration_s)
        self._requests.labels(*labels, shown, rejected).value += 1
        if error_type:
            self._rejections.labels(*labels, error_type, shown).value += 1

    def observe_open_failure(self, call: WebhookCall) -> None:
        """Count a failed call that was ignored."""
        self._open_failures.labels(call.name, call.type).value += 1

    def observe_policy(self, kind: str, duration_s: float, labels: tuple[str, ...]) -> None:
        """Count a decision of a `validating` or `mutating` policy."""
        counter, histogram = self._policies[kind]
        counter.labels(*labels).value += 1
        histogram.labels(*labels).observe(duration_s)
