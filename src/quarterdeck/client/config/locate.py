"""Finds the configuration a person or a pod expects: flag, KUBECONFIG, in-cluster, home."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from quarterdeck.client.config import kubeconfig
from quarterdeck.client.config.cluster import ClusterConfig, Material
from quarterdeck.client.config.proxy import find_proxy
from quarterdeck.client.errors import ConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load_config(
    path: str | Path | None = None,
    *,
    context: str = "",
    environment: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterConfig:
    """The configuration in force: `path`, KUBECONFIG, the pod's own, or `~/.kube/config`.

    A proxy that it does not name is taken from the environment.

    Raises:
        ConfigError: saying what was looked for and what to set.
    """
    found = _find(path, context, environment, service_account)
    if found.proxy_url:
        return found
    return msgspec.structs.replace(found, proxy_url=find_proxy(found.server, environment))


def _find(
    path: str | Path | None, context: str, environment: Mapping[str, str], service_account: Path
) -> ClusterConfig:
    if path is not None:
        return kubeconfig.resolve(kubeconfig.read([Path(path)]), context)
    if not environment.get("KUBECONFIG") and is_in_cluster(environment, service_account):
        return load_in_cluster(environment, service_account)
    return kubeconfig.resolve(kubeconfig.read(list_files(environment)), context)


def list_files(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """The kubeconfig files in force: those of KUBECONFIG, or `~/.kube/config`."""
    if listed := environment.get("KUBECONFIG"):
        return [Path(each).expanduser() for each in listed.split(os.pathsep) if each]
    return [Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"]


def is_in_cluster(
    environment: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT
) -> bool:
    """Whether this process runs in a pod with a service account."""
    return bool(environment.get("KUBERNETES_SERVICE_HOST")) and (folder / "token").is_file()


def load_in_cluster(
    environment: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT
) -> ClusterConfig:
    """The configuration of the pod this process runs in; the token file is read anew as it rotates.

    Raises:
        ConfigError: outside a pod, or without a mounted token.
    """
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigError("not running in a pod: KUBERNETES_SERVICE_HOST is not set")
    if not (folder / "token").is_file():
        raise ConfigError(f"{folder}/token is missing: mount the service account's token")
    namespace = folder / "namespace"
    return ClusterConfig(
        name="in-cluster",
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        certificate_authority=Material(file=folder / "ca.crt"),
        token_file=folder / "token",
    )
