"""The names of all keys and channels: what readers of the store rely on. Pure."""

CLUSTERS = "clusters:all"
REGISTRIES = "registries:all"
SOURCES = "metricsources:all"
ENABLED_SOURCES = "metricsources:enabled"
POLICIES = "policies:all"
ENABLED_POLICIES = "policies:enabled"
POLICIES_BY_PRIORITY = "policies:by:priority"

CLUSTER_EVENTS = "cluster-events"
SOURCE_EVENTS = "metricsource-events"
POLICY_CHANGES = "policy-changes"
POLICY_EVENTS = "policy-events"


def cluster(name: str, part: str) -> str:
    """A key of a cluster: spec, status, info, metrics, nodes, operators and so on."""
    return f"cluster:{name}:{part}"


def node(name: str, node: str, part: str = "") -> str:
    """A key of a node; its history and conditions have a part of their own."""
    return f"cluster:{name}:node:{node}" + (f":{part}" if part else "")


def custom(cluster: str, source_id: str, part: str) -> str:
    """The key of what a source collected from a cluster: resources, aggregations or meta."""
    return f"cluster:{cluster}:custom:{source_id}:{part}"


def source(namespace: str, name: str) -> str:
    """The key of a source's compiled definition."""
    return f"metricsource:{namespace}:{name}"


def source_id(namespace: str, name: str) -> str:
    """The identity of a source inside other keys: `namespace/name`."""
    return f"{namespace}/{name}"


def sources_of_type(resource_type: str) -> str:
    """The key of the set of sources with this resourceTypeName."""
    return f"metricsources:by:resourcetype:{resource_type}"


def registry(name: str, part: str) -> str:
    """A key of a registry: spec, status, meta, metrics, metrics:latest."""
    return f"registry:{name}:{part}"


def events(name: str) -> str:
    """The key of the events of a cluster or registry, newest first."""
    return f"events:{name}"


def policy(namespace: str, name: str) -> str:
    """The key of a compiled policy."""
    return f"policy:{namespace}:{name}"


def policies_of(kind: str, subject: str) -> str:
    """The key of the set of policies of a user, group, sa or customtype."""
    return f"policy:{kind}:{subject}"


def policies_by_effect(effect: str) -> str:
    """The key of the set of policies with an effect: Allow or Deny."""
    return f"policies:effect:{effect.lower()}"
