"""The audit log: the caller, the claim, the decision and its exact reason. No secrets."""

import msgspec

from quarterdeck.runtime import Logger, get_logger
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.metrics import BootstrapMetrics
from quarterdeck.services.bootstrap.refusal import Refused

LOGGER = "bootstrap.audit"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request comes from: the address of the peer, and the id of the request."""

    address: str
    request_id: str


class Audit:
    """Writes one line for each decision, and counts it."""

    def __init__(self, metrics: BootstrapMetrics, log: Logger | None = None) -> None:
        self._metrics = metrics
        self._log = log or get_logger(LOGGER)

    def record_issued(self, method: str, caller: Caller, claim: Claim, *, serial: str) -> None:
        """Record that a certificate was issued."""
        self._metrics.count_issued(method)
        self._log.info(
            "certificate issued",
            method=method,
            serial=serial,
            **_describe_caller(caller),
            **_name(claim),
        )

    def record_refusal(self, method: str, caller: Caller, refused: Refused) -> None:
        """Record that a machine was refused, with the reason that its answer does not have."""
        self._metrics.count_refusal(method, refused.reason)
        self._log.warning(
            "attestation refused",
            method=method,
            reason=refused.reason.value,
            detail=refused.detail,
            **_describe_caller(caller),
        )

    def record_registration(self, caller: Caller, claim: Claim, *, where: str) -> None:
        """Record that a machine was given a token to register its runner with."""
        self._log.info(
            "runner token given", where=where, **_describe_caller(caller), **_name(claim)
        )

    def record_workload_failure(self, caller: Caller, claim: Claim, detail: str) -> None:
        """Record that the workload of a machine could not be prepared."""
        self._log.warning(
            "workload cannot be prepared", detail=detail, **_describe_caller(caller), **_name(claim)
        )

    def record_unwritten_refusal(self, claim: Claim, error: Exception) -> None:
        """Record that a refusal could not be written into the status of its claim."""
        self._log.warning(
            "refusal not recorded in the claim", error=type(error).__name__, **_name(claim)
        )

    def record_repeated_answer(self, caller: Caller, claim: Claim, *, token_id: str) -> None:
        """Record that the key that used a token got the same answer again, after a lost one."""
        self._metrics.count_token("repeated")
        self._log.info(
            "answer repeated", token_id=token_id, **_describe_caller(caller), **_name(claim)
        )

    def record_token_change(
        self, event: str, caller: Caller, claim: Claim, *, token_id: str
    ) -> None:
        """Record that a token was issued or revoked; its id is not secret."""
        self._metrics.count_token(event)
        self._log.info(
            "join token changed",
            event=event,
            token_id=token_id,
            **_describe_caller(caller),
            **_name(claim),
        )


def _describe_caller(caller: Caller) -> dict[str, str]:
    return {"address": caller.address, "request_id": caller.request_id}


def _name(claim: Claim) -> dict[str, str]:
    return {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid}
