"""Converts the flags of kube-apiserver to settings of our server. Pure, except for file checks.

Flags that name files, users, rights and addresses are honored. What has no meaning here (caches
of the real server) is accepted, so that a suite starts unchanged.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from quarterdeck.app.api_server import ServeSettings
from quarterdeck.app.envtest.flags import ACCEPTED, HONORED, get_flag, is_set, list_values
from quarterdeck.app.errors import SettingError
from quarterdeck.app.identities import Identities
from quarterdeck.app.serving_certificate import ServingFiles
from quarterdeck.server.admission.plugins.service_addresses import parse_network
from quarterdeck.server.options import (
    AGGREGATED_DISCOVERY,
    ServerOptions,
    is_switched_off,
    parse_feature_gates,
)

Flags = dict[str, list[str]]
T = TypeVar("T")


def build_settings(flags: Flags, *, data_dir: Path | None, pki: Path) -> ServeSettings:
    """The settings of the server behind `kube-apiserver`.

    Raises:
        SettingError: for a value that is not accepted.
    """
    return ServeSettings(
        data_dir=data_dir,
        port=_parse_port(get_flag(flags, "secure-port", "6443")),
        host=get_flag(flags, "bind-address", "127.0.0.1"),
        kubeconfig=None,
        pki=pki,
        options=_build_options(flags),
        identities=Identities(
            client_ca_file=_get_path(flags, "client-ca-file"),
            token_auth_file=_get_path(flags, "token-auth-file"),
            requestheader_client_ca_file=_get_path(flags, "requestheader-client-ca-file"),
            requestheader_allowed_names=tuple(list_values(flags, "requestheader-allowed-names")),
        ),
        serving_files=_find_serving_files(flags),
        is_durable=False,
    )


def find_unknown(flags: Flags) -> list[str]:
    """Flags that change nothing here, sorted."""
    return sorted(set(flags) - set(HONORED) - set(ACCEPTED))


def _build_options(flags: Flags) -> ServerOptions:
    modes = list_values(flags, "authorization-mode") or ["AlwaysAllow"]
    network = get_flag(flags, "service-cluster-ip-range", "10.0.0.0/24")
    gates = ",".join(flags.get("feature-gates", ()))
    issuers = flags.get("service-account-issuer") or ["https://kubernetes.default.svc"]
    return ServerOptions(
        lifecycle=False,
        has_system_objects=True,
        has_roles="AlwaysAllow" not in modes or "RBAC" in modes,
        always_allow="AlwaysAllow" in modes,
        has_anonymous=is_set(flags, "anonymous-auth", default=True),
        signing_key=_get_path(flags, "service-account-signing-key-file"),
        service_account_keys=tuple(
            Path(each) for each in list_values(flags, "service-account-key-file")
        ),
        service_account_issuer=issuers[0],
        audiences=tuple(list_values(flags, "api-audiences")),
        enabled_plugins=frozenset(list_values(flags, "enable-admission-plugins")),
        disabled_plugins=frozenset(list_values(flags, "disable-admission-plugins")),
        feature_gates=_parse(parse_feature_gates, gates),
        has_aggregated_discovery=not is_switched_off(gates, AGGREGATED_DISCOVERY),
        service_cluster_ip_range=str(_parse(parse_network, network)),
    )


def _parse(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise SettingError(str(error)) from error


def _find_serving_files(flags: Flags) -> ServingFiles | None:
    """The named files, else `apiserver.crt` and `apiserver.key` in `--cert-dir`."""
    certificate = _get_path(flags, "tls-cert-file")
    key = _get_path(flags, "tls-private-key-file")
    if certificate is not None and key is not None:
        return ServingFiles(certificate, key)
    folder = _get_path(flags, "cert-dir")
    if folder is None:
        return None
    files = ServingFiles(folder / "apiserver.crt", folder / "apiserver.key")
    return files if all(path.is_file() for path in files) else None


def _get_path(flags: Flags, name: str) -> Path | None:
    text = get_flag(flags, name)
    return Path(text) if text else None


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise SettingError(f"invalid --secure-port {text!r}: expected a port number")
    return int(text)
