"""Finds the configuration to use: flag, KUBECONFIG, in-cluster, home directory."""

import os
from collections.abc import Mapping

import msgspec

from quarterdeck.client.config import kubeconfig
from quarterdeck.client.config.cluster import ClusterConfig, FilePath, PemSource
from quarterdeck.client.config.proxy import find_proxy
from quarterdeck.client.errors import ConfigError

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def load_config(
    path: FilePath | None = None,
    *,
    context: str = "",
    environment: Mapping[str, str] = os.environ,
    service_account: FilePath = SERVICE_ACCOUNT,
) -> ClusterConfig:
    """The configuration to use: `path`, KUBECONFIG, the pod's own, or `~/.kube/config`.

    A proxy that it does not name is taken from the environment.

    Raises:
        ConfigError: saying what was looked for and what to set.
    """
    found = _find(path, context, environment, service_account)
    if found.proxy_url:
        return found
    return msgspec.structs.replace(found, proxy_url=find_proxy(found.server, environment))


def _find(
    path: FilePath | None,
    context: str,
    environment: Mapping[str, str],
    service_account: FilePath,
) -> ClusterConfig:
    if path is not None:
        return kubeconfig.resolve(kubeconfig.read([path]), context)
    # a pod's own configuration has no contexts: where one is asked for, another cluster is meant
    is_own = not context and not environment.get("KUBECONFIG")
    if is_own and is_in_cluster(environment, service_account):
        return load_in_cluster(environment, service_account)
    return kubeconfig.resolve(kubeconfig.read(list_files(environment)), context)


def list_files(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The kubeconfig files in force: those of KUBECONFIG, or `~/.kube/config`."""
    if listed := environment.get("KUBECONFIG"):
        return [os.path.expanduser(each) for each in listed.split(os.pathsep) if each]
    home = os.path.expanduser(environment.get("HOME", "~"))
    return [os.path.join(home, ".kube", "config")]


def is_in_cluster(
    environment: Mapping[str, str] = os.environ, folder: FilePath = SERVICE_ACCOUNT
) -> bool:
    """Whether this process runs in a pod with a service account."""
    return bool(environment.get("KUBERNETES_SERVICE_HOST")) and os.path.isfile(
        os.path.join(folder, "token")
    )


def load_in_cluster(
    environment: Mapping[str, str] = os.environ, folder: FilePath = SERVICE_ACCOUNT
) -> ClusterConfig:
    """The configuration of the pod of this process; the token file is read again as it rotates.

    Raises:
        ConfigError: outside a pod, or without a mounted token.
    """
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigError("not running in a pod: KUBERNETES_SERVICE_HOST is not set")
    token = os.path.join(folder, "token")
    if not os.path.isfile(token):
        raise ConfigError(f"{token} is missing: mount the service account's token")
    return ClusterConfig(
        name="in-cluster",
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=_read_namespace(os.path.join(folder, "namespace")),
        certificate_authority=PemSource(file=os.path.join(folder, "ca.crt")),
        token_file=token,
    )


def _read_namespace(file: str) -> str:
    if not os.path.isfile(file):
        return "default"
    with open(file, encoding="utf-8") as text:
        return text.read().strip()
