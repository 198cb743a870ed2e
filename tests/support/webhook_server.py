"""An HTTPS server of admission and conversion webhooks whose behavior the URL path chooses.

A path is a behavior and `key=value` parts, separated by slashes; `+` stands for a space. The
recorded requests in `tests/golden` name these paths; their README lists what each one does.
"""

import base64
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from quarterdeck.kit import http
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate
from quarterdeck.kit.clock import SystemClock

_MAX_BODY = 16 * 1024 * 1024

Arguments = dict[str, list[str]]
Object = dict[str, Any]


Handler = Callable[[http.Request], Awaitable[http.Response]]


class WebhookServer(NamedTuple):
    """Where it listens, and the certificate to trust: base64 of PEM, as in `caBundle`."""

    url: str
    ca_bundle: str


@asynccontextmanager
async def webhook_server(handle: Handler | None = None) -> AsyncIterator[WebhookServer]:
    """Serve until the block ends; `handle` answers instead of the behaviors of the paths."""
    issued = issue_certificate(
        CertificateRequest("hook", timedelta(days=1), ("127.0.0.1", "localhost")),
        now=datetime.now(UTC),
    )
    pem = issued.encode_certificate()
    async with http.Server(handle or _handle, clock=SystemClock()) as server:
        listener = await server.listen("127.0.0.1", 0, tls=_tls(pem, issued.encode_key()))
        yield WebhookServer(f"https://127.0.0.1:{listener.port}", base64.b64encode(pem).decode())


def _tls(certificate: bytes, key: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hook.pem"
        path.write_bytes(certificate + key)
        context.load_cert_chain(path)
    return context


async def _handle(request: http.Request) -> http.Response:
    name, arguments = _parse(request.path)
    review = json.loads(await request.read(_MAX_BODY))
    if name == "raw":
        kind = _one(arguments, "type", "application/json").replace(":", "/")
        body = _one(arguments, "body").encode()
        return http.Response(int(_one(arguments, "status", "200")), [("Content-Type", kind)], body)
    if name == "slow":
        await SystemClock().sleep(float(_one(arguments, "seconds", "3")))
    is_conversion = "desiredAPIVersion" in review["request"]
    answer = _convert(arguments, review) if is_conversion else _admit(name, arguments, review)
    return http.Response(200, [("Content-Type", "application/json")], json.dumps(answer).encode())


def _parse(path: str) -> tuple[str, Arguments]:
    name, *parts = path.strip("/").split("/")
    arguments: Arguments = {}
    for part in parts:
        key, _, value = part.partition("=")
        arguments.setdefault(key, []).append(unquote_plus(value))
    return name, arguments


def _one(arguments: Arguments, key: str, default: str = "") -> str:
    return arguments.get(key, [default])[0]


def _admit(name: str, arguments: Arguments, review: Object) -> Object:
    request = review["request"]
    response: Object = {"uid": request["uid"], "allowed": True}
    if "warning" in arguments:
        response["warnings"] = arguments["warning"]
    match name:
        case "deny":
            response |= _denial(arguments)
        case "seen":
            response |= {"allowed": False, "status": {"message": _summary(request)}}
        case "patch":
            ops = base64.urlsafe_b64decode(_one(arguments, "ops") + "===")
            response["patch"] = base64.b64encode(ops).decode()
            if (kind := _one(arguments, "type", "JSONPatch")) != "none":
                response["patchType"] = kind
        case "count":
            response |= _count(_one(arguments, "key"), request["object"])
        case "review" if "uid" in arguments:
            response["uid"] = _one(arguments, "uid")
    answer: Object = {
        "apiVersion": _one(arguments, "version", review["apiVersion"]).replace(":", "/"),
        "kind": _one(arguments, "kind", "AdmissionReview"),
    }
    if _one(arguments, "response") != "none":
        answer["response"] = response
    return answer


def _denial(arguments: Arguments) -> Object:
    status: Object = {
        key: _one(arguments, key) for key in ("message", "reason") if key in arguments
    }
    if "code" in arguments:
        status["code"] = int(_one(arguments, "code"))
    return {"allowed": False, "status": status} if status else {"allowed": False}


def _count(key: str, value: Object) -> Object:
    """A patch that adds one to an annotation, to show how often the webhook was asked."""
    annotations = value["metadata"].get("annotations")
    full = f"hook.example.com/{key}"
    number = str(int((annotations or {}).get(full, "0")) + 1)
    operations: list[Object] = []
    if annotations is None:
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    path = "/metadata/annotations/" + full.replace("/", "~1")
    operations.append({"op": "add", "path": path, "value": number})
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"patch": patch, "patchType": "JSONPatch"}


def _summary(request: Object) -> str:
    """The members of an AdmissionRequest in one line."""
    user = request.get("userInfo", {})
    members = {
        "operation": request.get("operation"),
        "kind": _full_name(request.get("kind")),
        "resource": _full_name(request.get("resource")),
        "requestKind": _full_name(request.get("requestKind")),
        "requestResource": _full_name(request.get("requestResource")),
        "subResource": request.get("subResource", "-"),
        "requestSubResource": request.get("requestSubResource", "-"),
        "name": request.get("name", "-"),
        "namespace": request.get("namespace", "-"),
        "dryRun": json.dumps(request.get("dryRun")),
        "user": user.get("username"),
        "groups": ",".join(user.get("groups", [])),
        "extra": ",".join(sorted(user.get("extra", {}))) or "-",
        "options": (request.get("options") or {}).get("kind", "-"),
        "object": (request.get("object") or {}).get("apiVersion", "-"),
        "oldObject": (request.get("oldObject") or {}).get("apiVersion", "-"),
    }
    return " ".join(f"{key}={value}" for key, value in members.items())


def _full_name(value: Object | None) -> str:
    if not value:
        return "-"
    parts = (value.get("group"), value.get("version"), value.get("kind") or value.get("resource"))
    return "/".join(part for part in parts if part)


def _convert(arguments: Arguments, review: Object) -> Object:
    request = review["request"]
    desired = request["desiredAPIVersion"]
    objects = [_convert_one(arguments, each, desired) for each in request["objects"]]
    response: Object = {
        "uid": request["uid"],
        "result": {"status": "Success"},
        "convertedObjects": objects,
    }
    version = desired.split("/")[-1]
    if _one(arguments, "only", version) == version:
        _spoil(arguments, response, version)
    return {
        "apiVersion": review["apiVersion"],
        "kind": "ConversionReview",
        "response": response,
    }


def _convert_one(arguments: Arguments, value: Object, desired: str) -> Object:
    whole, parts = _one(arguments, "whole"), _one(arguments, "parts").split(",")
    spec = value.get("spec", {})
    if desired.split("/")[-1] == _one(arguments, "to"):
        if any(part in spec for part in parts):
            spec[whole] = ":".join(spec.pop(part, "") for part in parts)
    elif whole in spec:
        spec.update(zip(parts, spec.pop(whole).split(":"), strict=False))
    return {**value, "apiVersion": desired}


def _spoil(arguments: Arguments, response: Object, version: str) -> None:
    """Answer wrongly in the ways the path asks for."""
    objects = response["convertedObjects"]
    for value in objects:
        metadata = value["metadata"]
        if "label" in arguments:
            metadata.setdefault("labels", {})[_one(arguments, "label")] = version
        if "name" in arguments:
            metadata["name"] = _one(arguments, "name")
        if "meta-uid" in arguments:
            metadata["uid"] = _one(arguments, "meta-uid")
        if "finalizer" in arguments:
            metadata["finalizers"] = [_one(arguments, "finalizer").replace(":", "/")]
        if "version" in arguments:
            value["apiVersion"] = _one(arguments, "version").replace(":", "/")
    match _one(arguments, "count"):
        case "less":
            objects.pop()
        case "more":
            objects.append(objects[-1])
    if "uid" in arguments:
        response["uid"] = _one(arguments, "uid")
    if "fail" in arguments:
        response["result"] = {"status": "Failure", "message": _one(arguments, "fail")}
        response["convertedObjects"] = []
