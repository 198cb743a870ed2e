"""Kubeconfig files: read, merged as kubectl merges them, and resolved to one `ClusterConfig`.

With several files the first one that has an entry wins; relative paths are relative to the file
that contains them.
"""

import base64
import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.client.config.cluster import (
    INTERACTIVE_MODES,
    ClusterConfig,
    ExecConfig,
    FilePath,
    Impersonation,
    PemSource,
    is_token,
)
from quarterdeck.client.config.members import (
    read_flag,
    read_mapping,
    read_mappings,
    read_texts,
)
from quarterdeck.client.config.proxy import check_proxy
from quarterdeck.client.errors import ConfigError
from quarterdeck.kit import json
from quarterdeck.kit.http.origin import parse_origin, split_url
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
    if document is None:  # an empty file, as `touch` makes it, and /dev/null
        return Kubeconfig()
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
    for index, entry in enumerate(read_mappings(document, name, origin)):
        if not isinstance(entry.get("name"), str):
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
    plugin = resolved.get("exec")
    command = plugin.get("command") if isinstance(plugin, dict) else ""
    if isinstance(command, str) and "/" in command:
        resolved["exec"] = {**resolved["exec"], "command": _make_absolute(command, folder)}
    return resolved


def _make_absolute(path: str, folder: str) -> str:
    """A path of a file in `folder`. Links stay: whoever rotates a file points its link elsewhere,
    and a program may look at the name by which it is called.
    """
    return path if os.path.isabs(path) else os.path.abspath(os.path.join(folder, path))


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
    where = f"context {name!r}"
    if "auth-provider" in user:
        raise ConfigError(f"{where}: auth-provider was removed from Kubernetes; use an exec plugin")
    return ClusterConfig(
        name=name,
        server=_read_server(cluster, where),
        namespace=namespace,
        certificate_authority=_read_pem_source(cluster, "certificate-authority", where),
        insecure_skip_tls_verify=read_flag(cluster, "insecure-skip-tls-verify", where),
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        proxy_url=_read_proxy(cluster, where),
        client_certificate=_read_pem_source(user, "client-certificate", where),
        client_key=_read_pem_source(user, "client-key", where),
        token=_read_token(user, where),
        token_file=str(user["tokenFile"]) if user.get("tokenFile") else None,
        username=str(user.get("username") or ""),
        password=Secret(str(user["password"])) if user.get("password") else None,
        exec=_read_exec(user, where),
        impersonate=_read_impersonation(user, where),
    )


def _read_server(cluster: Mapping[str, Any], where: str) -> str:
    server = str(cluster.get("server") or "")
    if not server.startswith(("https://", "http://")):
        raise ConfigError(f"{where}: server {server!r} is not an http(s) URL")
    if "?" in server or "#" in server:
        raise ConfigError(f"{where}: the URL of the server must not have a query or fragment")
    try:
        parse_origin(split_url(server)[0])
    except ValueError as error:
        raise ConfigError(f"{where}: the URL of the server is not valid: {error}") from error
    return server.rstrip("/")


def _read_proxy(cluster: Mapping[str, Any], where: str) -> str:
    url = str(cluster.get("proxy-url") or "")
    return check_proxy(url, f"{where}: proxy-url") if url else ""


def _read_pem_source(entry: Mapping[str, Any], member: str, where: str) -> PemSource:
    if text := entry.get(f"{member}-data"):
        return PemSource(data=Secret(_decode_base64(str(text), f"{where}: {member}-data")))
    if path := entry.get(member):
        file = str(path)
        if not os.path.isfile(file):
            raise ConfigError(f"{where}: {member} {file} does not exist")
        return PemSource(file=file)
    return PemSource()


def _decode_base64(text: str, where: str) -> bytes:
    """Decode base64, in which line ends are ignored, as in Go."""
    try:
        return base64.b64decode("".join(text.splitlines()), validate=True)
    except ValueError as error:
        raise ConfigError(f"{where} is not base64") from error


def _read_token(user: Mapping[str, Any], where: str) -> Secret[str] | None:
    token = str(user.get("token") or "")
    if not token:
        return None
    if not is_token(token):
        raise ConfigError(f"{where}: token contains a space, or what no header can have")
    return Secret(token)


def _read_exec(user: Mapping[str, Any], where: str) -> ExecConfig | None:
    entry = read_mapping(user, "exec", where)
    if not entry:
        return None
    where = f"{where}: exec"
    command = entry.get("command")
    if not isinstance(command, str) or not command:
        raise ConfigError(f"{where}: the exec plugin has no command")
    variables = read_mappings(entry, "env", where)
    if not all(isinstance(each.get("name"), str) for each in variables):
        raise ConfigError(f"{where}: a variable of env has no name")
    return ExecConfig(
        command=command,
        args=read_texts(entry, "args", where),
        env=tuple((str(each["name"]), str(each.get("value") or "")) for each in variables),
        api_version=str(entry.get("apiVersion") or "client.authentication.k8s.io/v1"),
        install_hint=str(entry.get("installHint") or ""),
        provide_cluster_info=read_flag(entry, "provideClusterInfo", where),
        interactive_mode=_read_interactive_mode(entry, where),
    )


def _read_interactive_mode(entry: Mapping[str, Any], where: str) -> str:
    mode = str(entry.get("interactiveMode") or "IfAvailable")
    if mode not in INTERACTIVE_MODES:
        known = ", ".join(INTERACTIVE_MODES)
        raise ConfigError(f"{where}: interactiveMode must be one of {known}, got {mode!r}")
    return mode


def _read_impersonation(user: Mapping[str, Any], where: str) -> Impersonation:
    extra = read_mapping(user, "as-user-extra", where)
    return Impersonation(
        user=str(user.get("as") or ""),
        uid=str(user.get("as-uid") or ""),
        groups=read_texts(user, "as-groups", where),
        extra={str(name): read_texts(extra, name, f"{where}: as-user-extra") for name in extra},
    )
