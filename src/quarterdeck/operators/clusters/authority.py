"""The ConfigMap with the CA that collectors trust; watched, so that a rotation takes effect."""

from collections.abc import Mapping

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime import CacheScope


class AuthorityMap(Object, frozen=True, kw_only=True):
    """The ConfigMap with the CA certificates for collectors; other ConfigMaps are not watched."""

    KIND = ConfigMap.KIND
    data: Mapping[str, str] = {}


def build_scope(key: Key | None) -> CacheScope:
    """Watch this ConfigMap and no other; without a key, one that cannot exist."""
    if key is None:
        return CacheScope(fields="metadata.name=-")
    return CacheScope(namespaces=(key.namespace,), fields=f"metadata.name={key.name}")
