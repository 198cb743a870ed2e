"""Deliveries of GitHub: verifies signatures and parses `workflow_job` events. Pure."""

import hashlib
import hmac
import re
from typing import NamedTuple

import msgspec

from quarterdeck.apis.hypervisor.jobs import Job, JobState
from quarterdeck.kit import json

SIGNATURE = "X-Hub-Signature-256"
EVENT = "X-GitHub-Event"
_PREFIX = "sha256="
_SHAPE = re.compile("sha256=[0-9a-f]{64}")
_STATES: dict[str, JobState] = {
    "queued": "queued",
    "in_progress": "in_progress",
    "completed": "completed",
}


class InvalidDelivery(ValueError):
    """Raised when a delivery is invalid; the message names the field."""


class _Job(msgspec.Struct, frozen=True):
    id: int
    labels: tuple[str, ...] = ()
    runner_name: str | None = None


class _Named(msgspec.Struct, frozen=True):
    full_name: str = ""
    login: str = ""


class _Payload(msgspec.Struct, frozen=True):
    action: str
    workflow_job: _Job
    repository: _Named = _Named()
    organization: _Named = _Named()


class JobEvent(NamedTuple):
    """The new state of a job, with its labels and repository."""

    job: Job
    labels: frozenset[str]
    repository: str
    organization: str


def is_signature(header: str) -> bool:
    """Whether a header could be a signature at all."""
    return _SHAPE.fullmatch(header.strip()) is not None


def is_signed(body: bytes, header: str, secret: str) -> bool:
    """Whether a delivery was signed with a secret; takes the same time for every answer."""
    if not secret:
        return False
    expected = _PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), header.strip().encode())


def sign(body: bytes, secret: str) -> str:
    """The header that proves a delivery, for tests and simulated CI systems."""
    return _PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def parse_event(body: bytes, now: str) -> JobEvent | None:
    """Parse a `workflow_job` delivery; None for actions that are not used.

    Raises:
        InvalidDelivery: if it is not such a delivery.
    """
    try:
        payload = msgspec.json.decode(body, type=_Payload)
    except json.UNREADABLE as error:
        raise InvalidDelivery(str(error)) from error
    status = _STATES.get(payload.action)
    if status is None:
        return None
    job, owner = payload.workflow_job, payload.repository.full_name.partition("/")[0]
    return JobEvent(
        Job(id=str(job.id), status=status, runner=job.runner_name or "", since=now),
        frozenset(label.lower() for label in job.labels),
        payload.repository.full_name,
        payload.organization.login or owner,
    )
