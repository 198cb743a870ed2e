"""Chooses the collectors that receive a candidate: a share by a stable hash, or by matchers.

Client and server decide with the same function, so a preview names the collectors that a rollout
then chooses. The hash depends on the collector's id and on the pipeline, never on time or order:
restarts choose the same collectors, a larger weight only adds to them, and different pipelines
try out their changes on different collectors.
"""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from quarterdeck.telemetry.matchers import match_all, parse_all

BUCKETS = 10_000


class Choice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The choice of collectors: by `matchers` if there are any, else `weight` per cent."""

    salt: str
    """Usually the name of the pipeline."""
    weight: int = 0
    matchers: tuple[str, ...] = ()

    def is_chosen(self, identity: str, attributes: Mapping[str, str]) -> bool:
        """Whether a collector receives the candidate."""
        if self.matchers:
            return match_all(parse_all(self.matchers), attributes)
        return compute_bucket(identity, self.salt) < self.weight * BUCKETS // 100


def compute_bucket(identity: str, salt: str) -> int:
    """Hash a collector and a pipeline to a bucket below `BUCKETS`; always the same."""
    digest = hashlib.sha256(f"{salt}\0{identity}".encode()).digest()
    return int.from_bytes(digest[:8]) % BUCKETS


def digest_contents(contents: str) -> str:
    """A short hash of a configuration text."""
    return hashlib.sha256(contents.encode()).hexdigest()[:12]


def choose(identities: Sequence[str], choice: Choice) -> list[str]:
    """Choose among collectors by their ids; other attributes are not known."""
    return [each for each in identities if choice.is_chosen(each, {"collector.ID": each})]
