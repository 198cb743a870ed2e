"""Attestation methods of other packages: their Protocol, and loading them by entry point.

A package names a function without arguments that returns an `AttestationMethod` as entry point of
the group `quarterdeck.attestation`; its name is what templates give as `attestation.method`.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

import msgspec

from quarterdeck.services.bootstrap.claim import Claim

GROUP = "quarterdeck.attestation"
BUILT_IN = ("join-token", "tpm", "tpm+token")


class AttestationFailed(Exception):
    """Raised by a method when the evidence is not valid; the text is for the audit log only."""


class AttestationChallenge(msgspec.Struct, frozen=True, kw_only=True):
    """The challenge of a method to a machine."""

    payload: Mapping[str, Any] = {}
    """Sent to the machine as JSON."""
    state: bytes = b""
    """Kept by the service until the machine answers, at most a minute."""


class AttestationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a successful attestation."""

    selectors: tuple[str, ...] = ()
    """Facts that become part of the credentials, such as `cloud:instance:i-1`."""


class AttestationMethod(Protocol):
    """A way to attest a machine, in two steps."""

    async def begin(
        self, claim: Claim, evidence: Mapping[str, Any], request_hash: bytes
    ) -> AttestationChallenge:
        """Check the first evidence of a machine, and build a challenge that only it can answer.

        `request_hash` is SHA-256 of its certificate request. The answer should sign it: otherwise
        a stolen answer could be used with another key.

        Raises:
            AttestationFailed: if the machine is refused.
        """

    async def finish(
        self,
        claim: Claim,
        challenge: AttestationChallenge,
        evidence: Mapping[str, Any],
        request_hash: bytes,
    ) -> AttestationResult:
        """Verify the answer; each challenge can be answered once.

        Raises:
            AttestationFailed: if the answer is not valid.
        """


def load_methods(
    found: Iterable[EntryPoint] | None = None, *, warn: Callable[[str, str], None]
) -> dict[str, AttestationMethod]:
    """Load every installed method, by name; calls `warn` with each unusable one and why."""
    methods: dict[str, AttestationMethod] = {}
    for each in entry_points(group=GROUP) if found is None else found:
        if each.name in BUILT_IN or each.name in methods:
            warn(each.name, f"the name is taken; {each.value} is not used")
            continue
        try:
            methods[each.name] = each.load()()
        except Exception as error:  # a broken package must not stop the service
            warn(each.name, f"{each.value} cannot be loaded: {type(error).__name__}: {error}")
    return methods
