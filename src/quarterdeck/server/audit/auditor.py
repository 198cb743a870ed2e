"""Writes about the requests of one server what the policy asks for."""

from collections.abc import Mapping
from random import Random
from typing import Any

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.rfc3339 import format_micro
from quarterdeck.meta.builtins import decode_protobuf
from quarterdeck.meta.builtins.protobuf import MAGIC
from quarterdeck.server.audit.log import AuditLog
from quarterdeck.server.audit.policy import Decision, Level, Policy, Subject
from quarterdeck.server.audit.redaction import redact
from quarterdeck.server.authentication.user import User
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.wire import path as paths

_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}


class Record:
    """What is known about one request while it runs."""

    def __init__(self, decision: Decision, subject: Subject, event: dict[str, Any]) -> None:
        self.decision = decision
        self.subject = subject
        self.event = event
        self.body = b""
        """The body of the request, where the policy asks for it."""

    @property
    def needs_body(self) -> bool:
        """Whether the request's object is written."""
        return self.decision.level >= Level.REQUEST and bool(self.subject.resource)


class Auditor:
    """The audit log of one server."""

    def __init__(self, policy: Policy, log: AuditLog, *, clock: Clock, rng: Random) -> None:
        self._policy = policy
        self._log = log
        self._clock = clock
        self._random = rng

    def close(self) -> None:
        """Close the file."""
        self._log.close()

    def begin(self, request: http.Request, user: User, *, verb: str = "") -> Record | None:
        """Begin a request; None where the policy asks for nothing."""
        subject = _build_subject(request, user, verb)
        decision = self._policy.decide(subject)
        if decision.level is Level.NONE:
            return None
        event = self._build_event(request, decision, subject)
        record = Record(decision, subject, event)
        self._write(record, "RequestReceived")
        return record

    def end(
        self,
        record: Record,
        response: http.Response | http.StreamResponse,
        *,
        impersonated: User | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """End a request: one event, or the start of a long answer."""
        event = record.event
        if impersonated is not None:
            event["impersonatedUser"] = impersonated.to_info()
        event["responseStatus"] = _build_status(response)
        event["annotations"] = {
            "authorization.k8s.io/decision": "forbid" if response.status == 403 else "allow",
            **(annotations or {}),
        }
        if record.needs_body and record.body:
            event["requestObject"] = _parse(record, record.body)
        if record.decision.level is Level.REQUEST_RESPONSE and isinstance(response, http.Response):
            event["responseObject"] = _parse(record, response.body)
        is_long = not isinstance(response, http.Response)
        self._write(record, "ResponseStarted" if is_long else "ResponseComplete")

    def _build_event(
        self, request: http.Request, decision: Decision, subject: Subject
    ) -> dict[str, Any]:
        event: dict[str, Any] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": decision.level.shown,
            "auditID": generate_uid(self._random),
            "stage": "",
            "requestURI": request.target,
            "verb": subject.verb,
            "user": subject.user.to_info(),
            "sourceIPs": [request.peer.host],
            "userAgent": request.headers.get("user-agent") or "",
            "requestReceivedTimestamp": format_micro(self._clock.now()),
        }
        if subject.resource:
            members = {
                "resource": subject.resource,
                "namespace": subject.namespace,
                "name": subject.name,
                "apiGroup": subject.group,
                "subresource": subject.subresource,
            }
            event["objectRef"] = {name: text for name, text in members.items() if text}
        return event

    def _write(self, record: Record, stage: str) -> None:
        if stage in record.decision.omitted_stages:
            return
        stamp = format_micro(self._clock.now())
        self._log.write({**record.event, "stage": stage, "stageTimestamp": stamp})


def _build_subject(request: http.Request, user: User, verb: str) -> Subject:
    path = paths.parse(request.path)
    if path is None:
        return Subject(user, verb or _VERBS.get(request.method, ""), path=request.path)
    if not verb:
        verb = _VERBS.get(request.method, "")
        if not path.name and verb in ("get", "delete"):
            verb = "list" if verb == "get" else "deletecollection"
        if verb in ("get", "list") and "watch=true" in request.query.split("&"):
            verb = "watch"
    return Subject(
        user,
        verb,
        group=path.group,
        resource=path.resource,
        subresource=path.subresource,
        namespace=path.namespace,
        name=path.name,
    )


def _build_status(response: http.Response | http.StreamResponse) -> dict[str, Any]:
    found: dict[str, Any] = {"metadata": {}, "code": response.status}
    if isinstance(response, http.Response) and response.status >= 400:
        try:
            body = _decode(response.body)
        except ValueError:
            return found
        if isinstance(body, dict) and body.get("kind") == "Status":
            wanted = ("status", "message", "reason")
            found |= {name: body[name] for name in wanted if name in body}
    return found


def _decode(data: bytes) -> Any:
    """A body in JSON or protobuf.

    Raises:
        ValueError: if it is neither.
    """
    return decode_protobuf(data) if data.startswith(MAGIC) else kit_json.decode(data)


def _parse(record: Record, data: bytes) -> Any:
    try:
        value = _decode(data)
    except ValueError:
        return {"kind": "Unknown", "apiVersion": "runtime/v1"}
    subject = record.subject
    value = redact(value, resource=subject.resource, subresource=subject.subresource)
    if record.decision.omits_managed_fields and isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and "managedFields" in metadata:
            kept = {name: each for name, each in metadata.items() if name != "managedFields"}
            value = {**value, "metadata": kept}
    return value
