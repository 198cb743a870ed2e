"""Which objects a source reads: group, version, resource and selectors."""

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricTarget
from quarterdeck.engine.namespaces import NamespaceFilter

_FIXED = {"endpoints": "endpoints"}
_SIBILANTS = ("s", "x", "z", "ch", "sh")
_VOWELS = "aeiou"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The objects to list on each cluster."""

    group: str
    version: str
    kind: str
    resource: str
    """Plural resource, if the source names it; else from discovery, see `guess_resource`."""
    is_namespaced: bool
    label_selector: str
    """In the grammar of `labelSelector=`."""
    namespaces: NamespaceFilter

    @classmethod
    def from_spec(cls, spec: MetricTarget) -> "Target":
        """Split the API version, write the selector, compile the namespace patterns."""
        group, slash, version = spec.api_version.partition("/")
        is_namespaced = spec.scope == "Namespaced"
        chosen = spec.namespaces if is_namespaced else None
        return cls(
            group=group if slash else "",
            version=version if slash else group,
            kind=spec.kind,
            resource=spec.resource,
            is_namespaced=is_namespaced,
            label_selector=str(spec.label_selector) if spec.label_selector else "",
            namespaces=NamespaceFilter(chosen.include, chosen.exclude)
            if chosen
            else NamespaceFilter(),
        )


def guess_resource(kind: str) -> str:
    """Guess the plural by the rules of English, if discovery is not available."""
    name = kind.lower()
    if name in _FIXED:
        return _FIXED[name]
    if name.endswith(_SIBILANTS):
        return f"{name}es"
    if name.endswith("y") and name[-2:-1] not in _VOWELS:
        return f"{name[:-1]}ies"
    return f"{name}s"
