"""Which boots are accepted: rules about the values of PCRs."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from quarterdeck.attest.errors import InvalidQuote

Mode = Literal["exact", "allowlist", "record-only"]
_SIZE = 32


class PcrPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the PCRs of a machine must hold.

    `exact` requires one value for each PCR, `allowlist` one of several. `record-only` accepts any
    and has them recorded: the first boot is trusted, later ones are compared with it.
    """

    mode: Mode = "record-only"
    values: Mapping[int, Sequence[bytes]] = {}

    @property
    def required(self) -> frozenset[int]:
        """PCRs that a quote must have."""
        return frozenset(self.values)


def check_pcrs(policy: PcrPolicy, pcrs: Mapping[int, bytes]) -> None:
    """Refuse a boot that the policy does not accept.

    Raises:
        InvalidQuote: naming the PCR; its value is in the message, because it is not secret.
    """
    for index, value in pcrs.items():
        if len(value) != _SIZE:
            raise InvalidQuote(f"PCR {index} has {len(value)} bytes; expected {_SIZE}")
    if policy.mode == "record-only":
        return
    for index, accepted in sorted(policy.values.items()):
        found = pcrs.get(index)
        allowed = accepted[:1] if policy.mode == "exact" else accepted
        if found is None or found not in allowed:
            shown = "absent" if found is None else found.hex()
            raise InvalidQuote(f"PCR {index} is {shown}: not accepted by the policy")


def hash_pcrs(pcrs: Mapping[int, bytes]) -> str:
    """One digest for a boot, in hexadecimal digits; which PCRs it is of is part of it."""
    digest = hashlib.sha256()
    for index, value in sorted(pcrs.items()):
        digest.update(index.to_bytes(1, "big") + value)
    return digest.hexdigest()


def record_pcrs(pcrs: Mapping[int, bytes]) -> PcrPolicy:
    """The policy that accepts exactly this boot from now on."""
    return PcrPolicy(mode="exact", values={index: (value,) for index, value in pcrs.items()})
