"""Reports calls of webhooks in metrics, the log, and annotations of the audit log."""

import logging

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.clock import Clock
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.metrics import (
    CALLING_ERROR,
    NO_ERROR,
    AdmissionMetrics,
    WebhookCall,
)
from quarterdeck.server.admission.webhooks.registration import Webhook

_log = logging.getLogger(__name__)
_OK = 200
_UNAVAILABLE = 503
"""The code of a call that failed or had a malformed response."""
_MUTATION = "mutation.webhook.admission.k8s.io"
_VALIDATION = "validating.webhook.admission.k8s.io"


class Observer:
    """Reports the webhook calls of one server."""

    def __init__(self, metrics: AdmissionMetrics, clock: Clock) -> None:
        self.metrics = metrics
        self.clock = clock

    def begin(
        self, webhook: Webhook, attributes: AdmissionAttributes, index: int
    ) -> "ObservedCall":
        """Start the observation of a call, before the webhook is called."""
        return ObservedCall(self, webhook, attributes, index)


class ObservedCall:
    """One call of a webhook; it ends with `allow`, `refuse`, `fail` or `ignore_failure`."""

    def __init__(
        self, observer: Observer, webhook: Webhook, attributes: AdmissionAttributes, index: int
    ) -> None:
        self._observer = observer
        self._attributes = attributes
        self._index = index
        self._call = WebhookCall(webhook.name, webhook.is_mutating, attributes.verb.upper())
        self._started = observer.clock.monotonic()

    def allow(self) -> None:
        """Report that the webhook allowed the write."""
        self._observe(_OK)

    def refuse(self, code: int) -> None:
        """Report that the webhook refused the write with an HTTP code."""
        self._observe(code, NO_ERROR)

    def fail(self) -> None:
        """Report a failed call for which the write is refused."""
        self._observe(_UNAVAILABLE, CALLING_ERROR)

    def ignore_failure(self, error: Exception) -> None:
        """Report a failed call that the failure policy ignores."""
        self._observe(_UNAVAILABLE)
        self._observer.metrics.observe_open_failure(self._call)
        place = _MUTATION if self._call.is_mutating else _VALIDATION
        key = f"failed-open.{place}/{_build_place(self._attributes, self._index)}"
        self._attributes.audit_annotations[key] = self._call.name
        _log.warning(
            "webhook call failed and is ignored; failurePolicy is Ignore",
            extra={"webhook": self._call.name, "reason": str(error)},
        )

    def _observe(self, code: int, error_type: str = "") -> None:
        elapsed = self._observer.clock.monotonic() - self._started
        self._observer.metrics.observe_webhook(
            self._call, elapsed, code=code, error_type=error_type
        )


def annotate_mutation(
    webhook: Webhook, attributes: AdmissionAttributes, index: int, *, is_changed: bool
) -> None:
    """Annotate the audit event with a webhook call, and whether it changed the object."""
    value = {
        "configuration": webhook.configuration,
        "webhook": webhook.name,
        "mutated": is_changed,
    }
    key = f"{_MUTATION}/{_build_place(attributes, index)}"
    attributes.audit_annotations[key] = kit_json.encode(value).decode()


def _build_place(attributes: AdmissionAttributes, index: int) -> str:
    return f"round_{int(attributes.reinvocation.is_second)}_index_{index}"
