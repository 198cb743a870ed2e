"""Reads kubeconfigs for Argo CD's cluster Secrets. Pure.

Only credentials that are in the kubeconfig by value are accepted: a file, a command or a plugin
exists neither in Argo CD nor here.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple

from quarterdeck.kit import yaml

KEYS = ("kubeconfig", "value", "config")
"""Keys of Secrets that hold a kubeconfig, in the order they are tried."""


class KubeconfigError(ValueError):
    """Raised when a kubeconfig cannot be used; never repeats its contents."""


class Connection(NamedTuple):
    """Address and credentials of a cluster; certificates are PEM in base64."""

    server: str
    ca_data: str = ""
    cert_data: str = ""
    key_data: str = ""
    token: str = ""
    username: str = ""
    password: str = ""
    insecure: bool = False
    server_name: str = ""

    def __repr__(self) -> str:
        return f"Connection(server={self.server!r})"


def read_secret(data: Mapping[str, str], *, key: str = "") -> bytes:
    """Read the kubeconfig in a Secret's `data`.

    Raises:
        KubeconfigError: if there is none, or it is not base64.
    """
    for name in (key,) if key else KEYS:
        if name in data:
            try:
                return base64.b64decode(data[name], validate=True)
            except (binascii.Error, ValueError):
                raise KubeconfigError(f"the key {name} is not base64") from None
    wanted = key or ", ".join(KEYS)
    raise KubeconfigError(f"none of the keys {wanted} exists" if not key else f"no key {wanted}")


def parse(text: bytes) -> Connection:
    """Parse the current context of a kubeconfig.

    Raises:
        KubeconfigError: naming what is missing or not supported.
    """
    try:
        document = yaml.load(text)
    except (yaml.YamlError, UnicodeDecodeError):
        raise KubeconfigError("the kubeconfig is not YAML") from None
    if not isinstance(document, dict):
        raise KubeconfigError("the kubeconfig is not a mapping")
    current = document.get("current-context")
    if not current or not isinstance(current, str):
        raise KubeconfigError("the kubeconfig has no current-context")
    context = _find_named(document, "contexts", current, "context")
    cluster = _find_named(document, "clusters", str(context.get("cluster") or ""), "cluster")
    user = _find_named(document, "users", str(context.get("user") or ""), "user")
    return _build_connection(cluster, user)


def build(connection: Connection) -> bytes:
    """A kubeconfig with one context, the inverse of `parse`."""
    cluster = {
        "server": connection.server,
        "certificate-authority-data": connection.ca_data,
        "insecure-skip-tls-verify": connection.insecure,
        "tls-server-name": connection.server_name,
    }
    user = {
        "client-certificate-data": connection.cert_data,
        "client-key-data": connection.key_data,
        "token": connection.token,
        "username": connection.username,
        "password": connection.password,
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "target",
        "clusters": [{"name": "target", "cluster": _drop_empty(cluster)}],
        "users": [{"name": "user", "user": _drop_empty(user)}],
        "contexts": [{"name": "target", "context": {"cluster": "target", "user": "user"}}],
    }
    return yaml.dump(document).encode()


def _drop_empty(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


def _build_connection(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> Connection:
    server = str(cluster.get("server") or "")
    if not server.startswith(("https://", "http://")):
        raise KubeconfigError("the kubeconfig's cluster has no server address")
    for member in ("exec", "auth-provider"):
        if user.get(member):
            raise KubeconfigError(
                f"the kubeconfig's user authenticates by {member}, which Argo CD cannot run; use a "
                "client certificate or a token"
            )
    for entry, member in (
        (cluster, "certificate-authority"),
        (user, "client-certificate"),
        (user, "client-key"),
        (user, "tokenFile"),
    ):
        if entry.get(member):
            raise KubeconfigError(
                f"the kubeconfig refers to a file by {member}; embed the data instead"
            )
    insecure = bool(cluster.get("insecure-skip-tls-verify"))
    return Connection(
        server=server.rstrip("/"),
        ca_data="" if insecure else _read_base64(cluster, "certificate-authority-data"),
        cert_data=_read_base64(user, "client-certificate-data"),
        key_data=_read_base64(user, "client-key-data"),
        token=str(user.get("token") or ""),
        username=str(user.get("username") or ""),
        password=str(user.get("password") or ""),
        insecure=insecure,
        server_name=str(cluster.get("tls-server-name") or ""),
    )


def _read_base64(entry: Mapping[str, Any], member: str) -> str:
    text = str(entry.get(member) or "")
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise KubeconfigError(f"the kubeconfig's {member} is not base64") from None
    return text


def _find_named(
    document: Mapping[str, Any], section: str, name: str, member: str
) -> Mapping[str, Any]:
    entries = document.get(section)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            body = entry.get(member)
            if isinstance(body, dict):
                return body
            return {}
    raise KubeconfigError(f"the kubeconfig has no entry {name!r} in {section}")
