"""Kubeconfig files: read, merged as kubectl merges them, and resolved to one `ClusterConfig`.

With several files the first one that has an entry wins; relative paths are relative to the file
that contains them.
"""

import base64
import binascii
import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.client.config.cluster import (
    ClusterConfig,
    ExecConfig,
    FilePath,
    Impersonation,
    PemSource,
)
from quarterdeck.client.config.proxy import check_proxy
from quarterdeck.client.errors import ConfigError
from quarterdeck.kit import json
from quarterdeck.kit.redaction import Secret

_LISTS = {"clusters": "cluster", "users": "user", "contexts": "context"}
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class Kubeconfig(msgspec.Struct, frozen=True, kw_only=True):
    """One or several files, merged; entries by name, with absolute paths."""

    clusters: Mapping[str, Mapping[str, Any]] = {}
    users: Mapping[str, Mapping[str, Any]] = {}
    contexts: Mapping[str, Mapping[str, Any]] = {}
    current_context: str = ""
    files: tuple[FilePath, ...] = ()


def read(files: Sequence[FilePath]) -> Kubeconfig:
    """Read and merge files; those that do not exist are skipped, as kubectl does.

    Raises:
        ConfigError: if none exists, or one cannot be read; names the file and the place.
    """
    present = [file for file in files if os.path.exists(file)]
    if not present:
        listed = ", ".join(str(file) for file in files)
        raise ConfigError(f"no kubeconfig at {listed}: set KUBECONFIG or pass --kubeconfig")
    merged = Kubeconfig(files=tuple(present))
    for file in present:
        merged = _merge(merged, _read_one(file))
    return merged


def parse_inline(text: bytes, *, origin: str) -> Kubeconfig:
    """Read a kubeconfig from an untrusted source: it must not name files or programs.

    Raises:
        ConfigError: naming the origin, if it is not a kubeconfig or names a local file or program.
    """
    parsed = _parse(text, origin)
    for entries in (parsed.clusters, parsed.users):
        for name, body in entries.items():
            if forbidden := [each for each in (*_PATHS, "exec", "auth-provider") if body.get(each)]:
                raise ConfigError(
                    f"{origin}: {forbidden[0]} of {name!r} names a file or program of this "
                    "machine; put the value itself there"
                )
    return parsed


def _read_one(file: FilePath) -> Kubeconfig:
    try:
        with open(file, "rb") as opened:
            text = opened.read()
    except OSError as error:
        raise ConfigError(f"cannot read the kubeconfig {file}: {error.strerror}") from error
    parsed, folder = _parse(text, f"the kubeconfig {file}"), os.path.dirname(file)
    return msgspec.structs.replace(
        parsed,
        clusters={
            name: _with_absolute_paths(body, folder) for name, body in parsed.clusters.items()
        },
        users={name: _with_absolute_paths(body, folder) for name, body in parsed.users.items()},
    )


def _parse(text: bytes, origin: str) -> Kubeconfig:
    document = _read_document(text, origin)
    if not isinstance(document, dict):
        raise ConfigError(f"{origin} is not a mapping")
    return Kubeconfig(
        clusters=_read_entries(document, "clusters", origin),
        users=_read_entries(document, "users", origin),
        contexts=_read_entries(document, "contexts", origin),
        current_context=str(document.get("current-context") or ""),
    )


def _read_document(text: bytes, origin: str) -> Any:
    """Read JSON, which `up` writes and commands read fast, or else YAML."""
    if text.lstrip().startswith(b"{"):
        with contextlib.suppress(json.JsonError):
            return json.decode(text)
    from quarterdeck.kit import yaml  # not needed for JSON

    try:
        return yaml.load(text)
    except yaml.YamlError as error:
        raise ConfigError(f"{origin} is not YAML: {error}") from error


def _read_entries(
    document: Mapping[str, Any], name: str, origin: str
) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for index, entry in enumerate(document.get(name) or ()):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise ConfigError(f"{origin} has no name at {name}[{index}]")
        body = entry.get(_LISTS[name]) or {}
        if not isinstance(body, dict):
            raise ConfigError(f"{origin} has no mapping at {name}[{index}].{_LISTS[name]}")
        found.setdefault(entry["name"], body)
    return found


def _with_absolute_paths(body: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
    resolved = dict(body)
    for name in _PATHS:
        if resolved.get(name):
            resolved[name] = _make_absolute(str(resolved[name]), folder)
    command = (resolved.get("exec") or {}).get("command", "")
    if "/" in command and not command.startswith("/"):
        resolved["exec"] = {**resolved["exec"], "command": _make_absolute(command, folder)}
    return resolved


def _make_absolute(path: str, folder: str) -> str:
    """A path of a file in `folder`. Links stay: whoever rotates a file points its link elsewhere,
    and a program may look at the name by which it is called.
    """
    return os.path.abspath(os.path.join(folder, path))


def _merge(first: Kubeconfig, second: Kubeconfig) -> Kubeconfig:
    return Kubeconfig(
        clusters={**second.clusters, **first.clusters},
        users={**second.users, **first.users},
        contexts={**second.contexts, **first.contexts},
        current_context=first.current_context or second.current_context,
        files=first.files,
    )


def resolve(config: Kubeconfig, context: str = "") -> ClusterConfig:
    """The cluster and identity of a context, the current one by default.

    Raises:
        ConfigError: naming the context, cluster or user that is missing, or the bad member.
    """
    name = context or config.current_context
    if not name:
        known = ", ".join(sorted(config.contexts)) or "none"
        raise ConfigError(f"the kubeconfig has no current-context; contexts: {known}")
    if name not in config.contexts:
        known = ", ".join(sorted(config.contexts)) or "none"
        raise ConfigError(f"the kubeconfig has no context {name!r}; contexts: {known}")
    chosen = config.contexts[name]
    cluster = _find_entry(config.clusters, "cluster", chosen.get("cluster"), name)
    user = _find_entry(config.users, "user", chosen.get("user"), name) if chosen.get("user") else {}
    return _build_cluster_config(name, cluster, user, str(chosen.get("namespace") or "default"))


def _find_entry(
    entries: Mapping[str, Mapping[str, Any]], kind: str, name: object, context: str
) -> Mapping[str, Any]:
    if not isinstance(name, str) or name not in entries:
        raise ConfigError(
            f"context {context!r} names the {kind} {name!r}, which the kubeconfig does not define"
        )
    return entries[name]


def _build_cluster_config(
    name: str, cluster: Mapping[str, Any], user: Mapping[str, Any], namespace: str
) -> ClusterConfig:
    server = str(cluster.get("server") or "")
    if not server.startswith(("https://", "http://")):
        raise ConfigError(f"context {name!r}: server {server!r} is not an http(s) URL")
    if "auth-provider" in user:
        raise ConfigError(
            f"context {name!r}: auth-provider was removed from Kubernetes; use an exec plugin"
        )
    return ClusterConfig(
        name=name,
        server=server.rstrip("/"),
        namespace=namespace,
        certificate_authority=_read_pem_source(cluster, "certificate-authority", name),
        insecure_skip_tls_verify=bool(cluster.get("insecure-skip-tls-verify")),
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        proxy_url=_read_proxy(cluster, name),
        client_certificate=_read_pem_source(user, "client-certificate", name),
        client_key=_read_pem_source(user, "client-key", name),
        token=Secret(str(user["token"])) if user.get("token") else None,
        token_file=str(user["tokenFile"]) if user.get("tokenFile") else None,
        username=str(user.get("username") or ""),
        password=Secret(str(user["password"])) if user.get("password") else None,
        exec=_read_exec(user["exec"], name) if user.get("exec") else None,
        impersonate=_read_impersonation(user),
    )


def _read_proxy(cluster: Mapping[str, Any], context: str) -> str:
    url = str(cluster.get("proxy-url") or "")
    return check_proxy(url, f"context {context!r}: proxy-url") if url else ""


def _read_pem_source(entry: Mapping[str, Any], member: str, context: str) -> PemSource:
    if text := entry.get(f"{member}-data"):
        try:
            return PemSource(data=Secret(base64.b64decode(str(text), validate=True)))
        except binascii.Error as error:
            raise ConfigError(f"context {context!r}: {member}-data is not base64") from error
    if path := entry.get(member):
        file = str(path)
        if not os.path.isfile(file):
            raise ConfigError(f"context {context!r}: {member} {file} does not exist")
        return PemSource(file=file)
    return PemSource()


def _read_exec(entry: Mapping[str, Any], context: str) -> ExecConfig:
    if not entry.get("command"):
        raise ConfigError(f"context {context!r}: the exec plugin has no command")
    return ExecConfig(
        command=str(entry["command"]),
        args=tuple(str(each) for each in entry.get("args") or ()),
        env=tuple((str(e["name"]), str(e.get("value", ""))) for e in entry.get("env") or ()),
        api_version=str(entry.get("apiVersion") or "client.authentication.k8s.io/v1"),
        install_hint=str(entry.get("installHint") or ""),
        provide_cluster_info=bool(entry.get("provideClusterInfo")),
        interactive_mode=str(entry.get("interactiveMode") or "IfAvailable"),
    )


def _read_impersonation(user: Mapping[str, Any]) -> Impersonation:
    extra = user.get("as-user-extra") or {}
    return Impersonation(
        user=str(user.get("as") or ""),
        uid=str(user.get("as-uid") or ""),
        groups=tuple(user.get("as-groups") or ()),
        extra={str(name): tuple(values) for name, values in extra.items()},
    )
