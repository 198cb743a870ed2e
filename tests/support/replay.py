"""Replaying recorded requests: what differs from run to run is translated or masked."""

import json
import re
from typing import Any
from urllib.parse import quote

from quarterdeck.kit import http


async def send_recorded(
    client: http.Client, url: str, pair: dict[str, Any], known: dict[str, str]
) -> tuple[http.ClientResponse, Any]:
    """Send the request of a pair to our server, and learn from the answer; it, and its body."""
    request = pair["request"]
    headers = [("User-Agent", "replay/1"), ("Accept", request["accept"])]
    if request.get("contentType"):
        headers.append(("Content-Type", request["contentType"]))
    if request.get("identity"):
        headers.append(("X-Identity", request["identity"]))
    response = await client.request(
        request["method"],
        url + translated(request["path"], known),
        headers=headers,
        body=encode_body(request["body"], known),
    )
    body = parse_body(await response.read())
    learn(pair["body"], body, known)
    return response, body


def encode_body(body: Any, known: dict[str, str]) -> bytes | None:
    if body is None:
        return None
    text = body if isinstance(body, str) else json.dumps(body)
    return translated(text, known).encode()


def translated(text: str, known: dict[str, str]) -> str:
    """A recorded text with what our server made up in place of what the other did."""
    for recorded, ours in known.items():
        if len(recorded) > 8:
            text = text.replace(recorded, ours)
        else:
            text = text.replace(f'"resourceVersion": "{recorded}"', f'"resourceVersion": "{ours}"')
    return text


def learn(recorded: Any, ours: Any, known: dict[str, str]) -> None:
    """Pair the made-up values of two bodies of the same shape."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for name, value in recorded.items():
            other = ours.get(name)
            if name in ("uid", "resourceVersion", "continue") and value and other:
                known[value] = other
                known[quote(value, safe="")] = quote(other, safe="")
            elif name == "name" and "generateName" in recorded and other:
                known[value] = other
            else:
                learn(value, other, known)
    elif isinstance(recorded, list) and isinstance(ours, list):
        for value, other in zip(recorded, ours, strict=False):
            learn(value, other, known)


def parse_body(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        pass
    try:
        lines = [json.loads(line) for line in data.splitlines()]
    except ValueError:
        return data.decode()
    return lines[0] if len(lines) == 1 else lines


MASKED = frozenset(
    {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "time",
        "lastTransitionTime",
        "lastUpdateTime",
        "continue",
        "clusterIP",
        "clusterIPs",
        "serverAddress",
        "gitCommit",
        "token",
        "expirationTimestamp",
    }
)
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TEXTS = [
    (UID, "<uid>"),
    (re.compile(r"current: \d+"), "current: <rv>"),
    (re.compile(r"too old resource version: \d+ \(\d+\)"), "too old resource version"),
    (re.compile(r"^\d+s$"), "<age>"),
    (re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), "<time>"),
    (re.compile(r"^(gen|g)-[a-z0-9]{5}$"), r"\1-<made up>"),
    (re.compile(r"name=gen-[a-z0-9]{5} "), "name=gen-<made up> "),
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-<made up>"),
]


def masked(value: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(value.get("managedFields"), list):  # ordered by time, which is masked
            value = value | {"managedFields": sorted(value["managedFields"], key=_writer)}
        return {
            name: "<masked>" if name in MASKED and each else masked(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, str):
        for pattern, text in TEXTS:
            value = pattern.sub(text, value)
    return value


def _writer(entry: dict[str, Any]) -> tuple[str, ...]:
    return (entry["manager"], entry["operation"], entry.get("subresource", ""))


def sort_causes(body: Any) -> Any:
    """An answer with its causes in one order: Go lists members of maps in any."""
    details = body.get("details") if isinstance(body, dict) else None
    if not isinstance(details, dict) or not details.get("causes"):
        return body
    causes = sorted(details["causes"], key=json.dumps)
    message = "".join(sorted(body["message"]))
    return {**body, "message": message, "details": {**details, "causes": causes}}
