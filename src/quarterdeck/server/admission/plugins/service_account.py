"""ServiceAccount: pods run as a service account that exists, with its token mounted."""

import random
from collections.abc import Container

from quarterdeck.server.admission.attributes import (
    AdmissionAttributes,
    build_forbidden,
    is_creation,
)
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.plugins.lookup import get_object
from quarterdeck.server.admission.plugins.token_volume import mount_token
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store

_ENFORCE = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccount(MutatingPlugin):
    """Sets the service account of a pod, and mounts its token."""

    resources = frozenset({"pods"})

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store = store
        self._random = rng

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Name the account, look it up, mount its token.

        Raises:
            Forbidden: if there is no such account.
        """
        if not is_creation(attributes, "pods"):
            return
        pod = attributes.value or {}
        if "kubernetes.io/config.mirror" in get_mapping(pod, "metadata", "annotations"):
            _check_mirror_pod(attributes, get_mapping(pod, "spec"))
            return
        spec = pod.setdefault("spec", {})
        name = spec.get("serviceAccountName") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = get_object(self._store, "serviceaccounts", attributes.namespace, name)
        if account is None:
            raise build_forbidden(
                attributes,
                f"error looking up service account {attributes.namespace}/{name}: serviceaccount"
                f' "{name}" not found',
            )
        if get_mapping(account, "metadata", "annotations").get(_ENFORCE) == "true":
            _check_secrets(attributes, spec, account)
        if _is_automounted(spec, account):
            mount_token(spec, self._random)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]


def _check_mirror_pod(attributes: AdmissionAttributes, spec: Object) -> None:
    """Refuse a mirror pod that references a service account, a secret or a token."""
    if spec.get("serviceAccountName"):
        raise build_forbidden(attributes, "a mirror pod may not reference service accounts")
    for volume in get_items(spec, "volumes"):
        if volume.get("secret") is not None:
            raise build_forbidden(attributes, "a mirror pod may not reference secrets")
        for source in get_items(volume, "projected", "sources"):
            if source.get("serviceAccountToken") is not None:
                text = "a mirror pod may not use ServiceAccountToken volume projections"
                raise build_forbidden(attributes, text)


def _check_secrets(attributes: AdmissionAttributes, spec: Object, account: Object) -> None:
    """Refuse secrets that the account does not reference, for accounts that enforce this."""
    allowed = {each.get("name") for each in account.get("secrets") or ()}
    who = f"service account {account['metadata']['name']} does not reference that secret"
    for volume in get_items(spec, "volumes"):
        name = get_mapping(volume, "secret").get("secretName")
        if name and name not in allowed:
            raise build_forbidden(
                attributes,
                f'volume with secret.secretName="{name}" is not allowed because {who}',
            )
    for kind, member in (("init container", "initContainers"), ("container", "containers")):
        for container in get_items(spec, member):
            _check_environment(attributes, kind, container, allowed=allowed, cause=who)
    pulled = {each.get("name") for each in account.get("imagePullSecrets") or ()}
    for index, secret in enumerate(get_items(spec, "imagePullSecrets")):
        if secret.get("name") not in pulled:
            account_name = account["metadata"]["name"]
            raise build_forbidden(
                attributes,
                f'imagePullSecrets[{index}].name="{secret.get("name")}" is not allowed because'
                f" service account {account_name} does not reference that imagePullSecret",
            )


def _check_environment(
    attributes: AdmissionAttributes,
    kind: str,
    container: Object,
    *,
    allowed: Container[str | None],
    cause: str,
) -> None:
    for variable in get_items(container, "env"):
        name = get_mapping(variable, "valueFrom", "secretKeyRef").get("name")
        if name and name not in allowed:
            raise build_forbidden(
                attributes,
                f"{kind} {container.get('name')} with envVar {variable.get('name')} referencing"
                f' secret.secretName="{name}" is not allowed because {cause}',
            )


def _is_automounted(spec: Object, account: Object) -> bool:
    for place in (spec, account):
        value = place.get("automountServiceAccountToken")
        if value is not None:
            return bool(value)
    return True
