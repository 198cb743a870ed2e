"""Writes the audit events of one server that the policy requires."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.rfc3339 import format_micro
from quarterdeck.meta.builtins import decode_protobuf
from quarterdeck.meta.builtins.protobuf import MAGIC
from quarterdeck.server.audit.log import AuditLog
from quarterdeck.server.audit.policy import Decision, Level, Policy, Subject
from quarterdeck.server.audit.redaction import REDACTED, redact, shows_content
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer
from quarterdeck.server.authorization.request_attributes import describe_request
from quarterdeck.wire import path as paths

Result = TypeVar("Result")
_STATUS_MEMBERS = ("status", "message", "reason", "details")
_STATUS_HEAD = 32
"""The first bytes of a body, which name its kind, in JSON and in protobuf."""
_Run = Callable[[http.BodyWriter], Awaitable[None]]


class Record:
    """The audit state of one request: the policy's decision, and the event built so far."""

    def __init__(self, decision: Decision, subject: Subject, event: dict[str, Any]) -> None:
        self.decision = decision
        self.subject = subject
        self.event = event
        self.body = b""
        """The body of the request, if the policy level includes it."""

    @property
    def needs_body(self) -> bool:
        """Whether the object in the request is written to the audit log."""
        return self.decision.level >= Level.REQUEST and bool(self.subject.resource)


class Threads(Protocol):
    """Runs long computations in threads; implemented by `server.core.worker`."""

    async def run(self, size: int, compute: Callable[[], Result]) -> Result:
        """Call `compute`, which reads `size` bytes: at once if they are few, else in a thread."""
        ...


class Auditor:
    """The audit log of one server."""

    def __init__(self, policy: Policy, log: AuditLog, *, clock: Clock, threads: Threads) -> None:
        self._policy = policy
        self._log = log
        self._clock = clock
        self._threads = threads

    def close(self) -> None:
        """Close the file."""
        self._log.close()

    def begin(
        self, request: http.Request, user: User, *, audit_id: str, verb: str = ""
    ) -> Record | None:
        """Start the record of a request; None if the policy does not log the request."""
        subject = _build_subject(request, user, verb)
        decision = self._policy.decide(subject)
        if decision.level is Level.NONE:
            return None
        event = self._build_event(request, decision, subject, audit_id=audit_id)
        record = Record(decision, subject, event)
        self._write(record, "RequestReceived")
        return record

    def add_decision(self, record: Record, user: User, authorizer: Authorizer) -> None:
        """Add the user that a request acts as, and the authorizer's decision.

        It is called before the request is answered, which may change the rights of its user. It is
        not called for requests that are refused before they are authorized.
        """
        if user is not record.subject.user:
            record.event["impersonatedUser"] = user.to_info()
        record.event["annotations"] = _describe_decision(authorizer, record.subject, user)

    def abandon(self, record: Record, status: int, annotations: Mapping[str, str]) -> None:
        """End a request that has no response: cancelled, or disconnected within its body."""
        record.event["responseStatus"] = {
            "metadata": {},
            "status": "Failure",
            "message": "Connection closed early",
            "code": status,
        }
        _add_annotations(record, annotations)
        self._write(record, "ResponseComplete")

    async def end(
        self,
        record: Record,
        response: http.Response | http.StreamResponse,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """End a request; a watch ends later, when its stream does."""
        event = record.event
        event["responseStatus"] = _build_status(response, record.subject.resource)
        _add_annotations(record, annotations or {})
        if record.subject.verb == "watch" and isinstance(response, http.StreamResponse):
            await self._add_objects(record, b"", stage="ResponseStarted")
            response.run = self._wrap_stream(record, response.run)
        else:
            body = response.body if isinstance(response, http.Response) else b""
            await self._add_objects(record, body, stage="ResponseComplete")

    async def _add_objects(self, record: Record, answer: bytes, *, stage: str) -> None:
        """Write a stage with the objects of its level; large ones are parsed in a thread.

        If the client disconnects meanwhile, the line is written without them.
        """
        bodies = {"requestObject": record.body if record.needs_body else b""}
        if record.decision.level is Level.REQUEST_RESPONSE:
            bodies["responseObject"] = answer
        before, line = record.event, b""

        def build() -> tuple[dict[str, Any], bytes]:
            found = {name: _parse(record, body) for name, body in bodies.items() if body}
            event = _complete_reference({**before, **found})
            return event, self._encode(event, stage)

        try:
            size = sum(map(len, bodies.values()))
            record.event, line = await self._threads.run(size, build)
        finally:
            self._write(record, stage, line)

    def _wrap_stream(self, record: Record, run: "_Run") -> "_Run":
        """Wrap the stream of a response, so that its end is logged even if it fails."""

        async def run_audited(body: http.BodyWriter) -> None:
            try:
                await run(body)
            finally:
                self._write(record, "ResponseComplete")

        return run_audited

    def _build_event(
        self, request: http.Request, decision: Decision, subject: Subject, *, audit_id: str
    ) -> dict[str, Any]:
        event: dict[str, Any] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": decision.level.wire_name,
            "auditID": audit_id,
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
                "apiVersion": subject.version,
                "subresource": subject.subresource,
            }
            event["objectRef"] = {name: text for name, text in members.items() if text}
        return event

    def _encode(self, event: dict[str, Any], stage: str) -> bytes:
        stamp = format_micro(self._clock.now())
        return kit_json.encode({**event, "stage": stage, "stageTimestamp": stamp})

    def _write(self, record: Record, stage: str, line: bytes = b"") -> None:
        """Append a stage of a request, encoded if it is not yet."""
        if stage not in record.decision.omitted_stages and not self._log.is_closed:
            self._log.append(line or self._encode(record.event, stage))


def _add_annotations(record: Record, annotations: Mapping[str, str]) -> None:
    if annotations:
        event = record.event
        event["annotations"] = {**event.get("annotations", {}), **annotations}


def _describe_decision(authorizer: Authorizer, subject: Subject, user: User) -> dict[str, str]:
    """Build the annotations for the authorization decision and the binding that allowed it."""
    asked = Attributes(*subject[1:])
    is_allowed = authorizer.allows(user, asked)
    return {
        "authorization.k8s.io/decision": "allow" if is_allowed else "forbid",
        "authorization.k8s.io/reason": authorizer.explain(user, asked) if is_allowed else "",
    }


def _complete_reference(event: dict[str, Any]) -> dict[str, Any]:
    """Complete `objectRef` with the metadata of the request's object; the path takes precedence."""
    value, reference = event.get("requestObject"), event.get("objectRef")
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if reference is None or not isinstance(metadata, dict):
        return event
    found = {
        member: metadata[member]
        for member in ("name", "namespace", "uid", "resourceVersion")
        if isinstance(metadata.get(member), str) and metadata[member]
    }
    return {**event, "objectRef": {**found, **reference}}


def _build_subject(request: http.Request, user: User, verb: str) -> Subject:
    path = paths.parse(request.path)
    if path is None:
        method = "get" if request.method == "HEAD" else request.method.lower()
        return Subject(user, verb or method, path=request.path)
    found = describe_request(request.method, path, request.query)
    return Subject(user, verb or found.verb, *found[1:])


def _build_status(response: http.Response | http.StreamResponse, resource: str) -> dict[str, Any]:
    """Build `responseStatus`: the code, and what a Status in the response says besides it."""
    found: dict[str, Any] = {"metadata": {}, "code": response.status}
    if not isinstance(response, http.Response) or not _may_be_status(response):
        return found
    try:
        body = _decode(response.body)
    except ValueError:
        return found
    if isinstance(body, dict) and body.get("kind") == "Status":
        found |= {name: body[name] for name in _STATUS_MEMBERS if name in body}
        is_failure = body.get("status") == "Failure"
        if is_failure and shows_content(str(body.get("reason")), resource=resource):
            found["message"] = REDACTED
            found.pop("details", None)
    return found


def _may_be_status(response: http.Response) -> bool:
    """Whether a body is worth decoding: that of an error, or one that begins as a Status does."""
    return response.status >= 400 or b"Status" in response.body[:_STATUS_HEAD]


def _decode(data: bytes) -> Any:
    """Decode a body in JSON or protobuf.

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
    return _omit_managed_fields(value) if record.decision.omits_managed_fields else value


def _omit_managed_fields(value: Any) -> Any:
    """An object without its managed fields, or a list of such."""
    if not isinstance(value, dict):
        return value
    metadata, items = value.get("metadata"), value.get("items")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        kept = {name: each for name, each in metadata.items() if name != "managedFields"}
        value = {**value, "metadata": kept}
    if isinstance(items, list) and str(value.get("kind", "")).endswith("List"):
        value = {**value, "items": [_omit_managed_fields(each) for each in items]}
    return value
