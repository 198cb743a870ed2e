"""The flags of kube-apiserver and etcd, as envtest passes them. Pure."""

from collections.abc import Sequence

_BOOLEANS = ("true", "false")
HONORED = (
    "anonymous-auth",
    "api-audiences",
    "authorization-mode",
    "bind-address",
    "cert-dir",
    "client-ca-file",
    "disable-admission-plugins",
    "enable-admission-plugins",
    "etcd-servers",
    "feature-gates",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "secure-port",
    "service-account-issuer",
    "service-account-key-file",
    "service-account-signing-key-file",
    "service-cluster-ip-range",
    "tls-cert-file",
    "tls-private-key-file",
    "token-auth-file",
)
ACCEPTED = (
    "allow-privileged",
    "runtime-config",
)
"""Flags without effect that need no warning."""


def parse_flags(arguments: Sequence[str]) -> dict[str, list[str]]:
    """Read `--name=value`, `--name value` and `--name`; a flag may be given several times.

    Names of flags are not checked here: the real programs have hundreds.
    """
    found: dict[str, list[str]] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        if not equals:
            has_value = bool(rest) and not rest[0].startswith("-")
            value = rest.pop(0) if has_value else "true"
        found.setdefault(name, []).append(value)
    return found


def get_flag(flags: dict[str, list[str]], name: str, default: str = "") -> str:
    """The value of a flag; the last one counts."""
    return flags[name][-1] if flags.get(name) else default


def list_values(flags: dict[str, list[str]], name: str) -> list[str]:
    """All values of a flag that may be repeated or hold several, separated by commas."""
    texts = [each for text in flags.get(name, ()) for each in text.split(",")]
    return [each.strip() for each in texts if each.strip()]


def is_set(flags: dict[str, list[str]], name: str, *, default: bool) -> bool:
    """The value of a switch."""
    text = get_flag(flags, name).lower()
    return text == "true" if text in _BOOLEANS else default
