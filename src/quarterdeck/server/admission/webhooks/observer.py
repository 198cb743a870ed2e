"""What is told about questions to webhooks: metrics, the log, and annotations of the audit log."""

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
    """Observes the webhooks of one server."""

    def __init__(self, metrics: AdmissionMetrics, clock: Clock) -> None:
        self.metrics = metrics
        self.clock = clock

    def begin(self, webhook: Webhook, attributes: AdmissionAttributes, index: int) -> "Question":
        """A webhook is about to be asked."""
        return Question(self, webhook, attributes, index)


class Question:
    """One question, until it is answered in one of four ways."""

    def __init__(
        self, observer: Observer, webhook: Webhook, attributes: AdmissionAttributes, index: int
    ) -> None:
        self._observer = observer
        self._attributes = attributes
        self._index = index
        self._call = WebhookCall(webhook.name, webhook.is_mutating, attributes.verb.upper())
        self._started = observer.clock.monotonic()

    def allow(self) -> None:
        """The webhook allowed the write."""
        self._observe(_OK)

    def refuse(self, code: int) -> None:
        """The webhook refused the write."""
        self._observe(code, NO_ERROR)

    def fail(self) -> None:
        """The webhook could not be asked, and the write is refused for it."""
        self._observe(_UNAVAILABLE, CALLING_ERROR)

    def ignore_failure(self, error: Exception) -> None:
        """The webhook could not be asked, and the write goes on without it."""
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
    """Say in the audit event which webhook saw the object, and whether it changed it."""
    value = {
        "configuration": webhook.configuration,
        "webhook": webhook.name,
        "mutated": is_changed,
    }
    key = f"{_MUTATION}/{_build_place(attributes, index)}"
    attributes.audit_annotations[key] = kit_json.encode(value).decode()


def _build_place(attributes: AdmissionAttributes, index: int) -> str:
    return f"round_{int(attributes.reinvocation.is_second)}_index_{index}"
