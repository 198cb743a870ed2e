"""Attestation methods of other packages: a Protocol, and how they are found.

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


class Unproved(Exception):
    """Raised by a method when the evidence proves nothing; the text is for the audit log only."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a method asks of a machine."""

    challenge: Mapping[str, Any] = {}
    """Sent to the machine; values that JSON has."""
    state: bytes = b""
    """Kept by the service until the machine answers, at most a minute."""


class Proved(msgspec.Struct, frozen=True, kw_only=True):
    """What a method found out about a machine."""

    selectors: tuple[str, ...] = ()
    """Facts that become part of the credentials, such as `cloud:instance:i-1`."""


class AttestationMethod(Protocol):
    """One way to prove a machine, in two steps."""

    async def begin(self, claim: Claim, evidence: Mapping[str, Any], request_hash: bytes) -> Asked:
        """Look at what a machine sent first, and ask it something that only it can answer.

        `request_hash` is SHA-256 of its certificate request. Have it signed with the answer:
        otherwise whoever steals the answer can use it with a key of his own.

        Raises:
            Unproved: if the machine is refused.
        """

    async def finish(
        self, claim: Claim, asked: Asked, evidence: Mapping[str, Any], request_hash: bytes
    ) -> Proved:
        """Judge the answer; a machine gets one try for each challenge.

        Raises:
            Unproved: if it proves nothing.
        """


def load_methods(
    found: Iterable[EntryPoint] | None = None, *, warn: Callable[[str, str], None]
) -> dict[str, AttestationMethod]:
    """Every installed method, by name; `warn` hears which cannot be used, and why."""
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
