"""ServiceAccount: pods run as a service account that exists, with its token mounted."""

import random

from quarterdeck.server.admission.attributes import AdmissionAttributes, build_refusal, is_creation
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.plugins.lookup import get_object
from quarterdeck.server.admission.plugins.token_volume import mount_token
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store


class ServiceAccount(MutatingPlugin):
    """Sets the service account of a pod, and mounts its token."""

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
            return
        spec = pod.setdefault("spec", {})
        name = spec.get("serviceAccountName") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = get_object(self._store, "serviceaccounts", attributes.namespace, name)
        if account is None:
            raise build_refusal(
                attributes,
                f"error looking up service account {attributes.namespace}/{name}: serviceaccount"
                f' "{name}" not found',
            )
        if _is_automounted(spec, account):
            mount_token(spec, self._random)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]


def _is_automounted(spec: Object, account: Object) -> bool:
    for place in (spec, account):
        value = place.get("automountServiceAccountToken")
        if value is not None:
            return bool(value)
    return True
