"""Every metric of the service, declared once."""

from quarterdeck.kit.metrics import Registry
from quarterdeck.services.bootstrap.refusal import RefusalReason

METHODS = ("join-token", "tpm", "tpm+token", "renew")


class BootstrapMetrics:
    """Attestations, refusals, tokens; in a registry of its own unless given one."""

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = registry if registry is not None else Registry()
        r = self.registry
        self._issued = r.counter(
            "hyperfleet_bootstrap_certificates_total", "Certificates issued", ("method",)
        )
        self._refused = r.counter(
            "hyperfleet_bootstrap_refusals_total",
            "Requests of machines that were refused, by reason; alert on Reused and ClonedTpm",
            ("method", "reason"),
        )
        self._tokens = r.counter(
            "hyperfleet_bootstrap_join_tokens_total", "Join tokens, by event", ("event",)
        )
        self._requests = r.counter(
            "hyperfleet_bootstrap_requests_total", "Requests answered", ("endpoint", "code")
        )
        for method in METHODS:
            self._issued.labels(method)
        for event in ("issued", "repeated", "revoked", "forgotten"):
            self._tokens.labels(event)

    def count_issued(self, method: str) -> None:
        """Count an issued certificate."""
        self._issued.labels(method).inc()

    def count_refusal(self, method: str, reason: RefusalReason) -> None:
        """Count a refused attestation."""
        self._refused.labels(method, reason.value).inc()

    def count_token(self, event: str) -> None:
        """Count a token that was issued, repeated, revoked or forgotten."""
        self._tokens.labels(event).inc()

    def count_request(self, endpoint: str, status: int) -> None:
        """Count an answered request."""
        self._requests.labels(endpoint, str(status)).inc()
