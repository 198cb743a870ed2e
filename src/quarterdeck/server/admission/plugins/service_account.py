"""ServiceAccount: pods run as a service account that exists, with its token mounted."""

import random

from quarterdeck.server.admission.attributes import Attempt, is_new, refusal
from quarterdeck.server.admission.plugin import Quiet
from quarterdeck.server.admission.plugins.lookup import stored
from quarterdeck.server.admission.plugins.token_volume import mount_token
from quarterdeck.server.kinds.fields import mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store


class ServiceAccounts(Quiet):
    """Pods run as a service account that exists, and find its token."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store = store
        self._random = rng

    def admit(self, attempt: Attempt) -> None:
        """Name the account, look it up, mount its token.

        Raises:
            Forbidden: if there is no such account.
        """
        if not is_new(attempt, "pods"):
            return
        pod = attempt.value or {}
        if "kubernetes.io/config.mirror" in mapping(pod, "metadata", "annotations"):
            return
        spec = pod.setdefault("spec", {})
        name = spec.get("serviceAccountName") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = stored(self._store, "serviceaccounts", attempt.namespace, name)
        if account is None:
            raise refusal(
                attempt,
                f"error looking up service account {attempt.namespace}/{name}: serviceaccount"
                f' "{name}" not found',
            )
        if _automounts(spec, account):
            mount_token(spec, self._random)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]


def _automounts(spec: Object, account: Object) -> bool:
    for place in (spec, account):
        wish = place.get("automountServiceAccountToken")
        if wish is not None:
            return bool(wish)
    return True
