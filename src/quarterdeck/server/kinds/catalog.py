"""The catalog of built-in resources: the rules of each kind.

The table in `meta.builtins` lists the kinds and their names. Kinds without their own rules are
served too, with checks of their types. Rules are referenced by name: the module of a family is
loaded with the first request for one of its kinds.
"""

from collections.abc import Collection, Iterator

from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds.strategy import BuiltinStrategy
from quarterdeck.server.registry.resource import STATUS, Resource, Subresource

_RULES: dict[tuple[str, str], str] = {
    ("v1", "Pod"): "pods.POD",
    ("v1", "PodTemplate"): "pods.POD_TEMPLATE",
    ("v1", "Service"): "services.SERVICE",
    ("v1", "Endpoints"): "endpoints.ENDPOINTS",
    ("v1", "ConfigMap"): "config.CONFIG_MAP",
    ("v1", "Secret"): "config.SECRET",
    ("v1", "ServiceAccount"): "config.SERVICE_ACCOUNT",
    ("v1", "Namespace"): "cluster.NAMESPACE",
    ("v1", "Node"): "nodes.NODE",
    ("v1", "ResourceQuota"): "resource_quotas.RESOURCE_QUOTA",
    ("v1", "LimitRange"): "limit_ranges.LIMIT_RANGE",
    ("v1", "PersistentVolumeClaim"): "persistent_volume_claims.PERSISTENT_VOLUME_CLAIM",
    ("v1", "PersistentVolume"): "persistent_volumes.PERSISTENT_VOLUME",
    ("v1", "ReplicationController"): "replica_sets.REPLICATION_CONTROLLER",
    ("v1", "Event"): "events.CORE_V1_EVENT",
    ("events.k8s.io/v1", "Event"): "events.EVENTS_V1_EVENT",
    ("apps/v1", "Deployment"): "deployments.DEPLOYMENT",
    ("apps/v1", "ReplicaSet"): "replica_sets.REPLICA_SET",
    ("apps/v1", "StatefulSet"): "stateful_sets.STATEFUL_SET",
    ("apps/v1", "DaemonSet"): "daemon_sets.DAEMON_SET",
    ("apps/v1", "ControllerRevision"): "daemon_sets.CONTROLLER_REVISION",
    ("batch/v1", "Job"): "jobs.JOB",
    ("batch/v1", "CronJob"): "cron_jobs.CRON_JOB",
    (
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
    ): "horizontal_pod_autoscalers.HORIZONTAL_POD_AUTOSCALER_V1",
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
    ): "horizontal_pod_autoscalers.HORIZONTAL_POD_AUTOSCALER_V2",
    ("policy/v1", "PodDisruptionBudget"): "pod_disruption_budgets.POD_DISRUPTION_BUDGET",
    ("networking.k8s.io/v1", "Ingress"): "networking.INGRESS",
    ("networking.k8s.io/v1", "IngressClass"): "networking.INGRESS_CLASS",
    ("networking.k8s.io/v1", "NetworkPolicy"): "network_policies.NETWORK_POLICY",
    ("discovery.k8s.io/v1", "EndpointSlice"): "endpoints.ENDPOINT_SLICE",
    ("storage.k8s.io/v1", "StorageClass"): "storage_classes.STORAGE_CLASS",
    ("storage.k8s.io/v1", "CSIDriver"): "storage_drivers.CSI_DRIVER",
    ("storage.k8s.io/v1", "CSINode"): "storage_drivers.CSI_NODE",
    ("storage.k8s.io/v1", "CSIStorageCapacity"): "storage_drivers.CSI_STORAGE_CAPACITY",
    ("storage.k8s.io/v1", "VolumeAttachment"): "storage_drivers.VOLUME_ATTACHMENT",
    ("storage.k8s.io/v1", "VolumeAttributesClass"): "storage_classes.VOLUME_ATTRIBUTES_CLASS",
    ("networking.k8s.io/v1", "ServiceCIDR"): "service_cidrs.SERVICE_CIDR",
    ("networking.k8s.io/v1", "IPAddress"): "service_cidrs.IP_ADDRESS",
    ("certificates.k8s.io/v1", "ClusterTrustBundle"): "cluster_trust_bundles.CLUSTER_TRUST_BUNDLE",
    (
        "certificates.k8s.io/v1",
        "PodCertificateRequest",
    ): "pod_certificate_requests.POD_CERTIFICATE_REQUEST",
    (
        "storagemigration.k8s.io/v1",
        "StorageVersionMigration",
    ): "storage_version_migrations.STORAGE_VERSION_MIGRATION",
    ("resource.k8s.io/v1", "DeviceTaintRule"): "device_taints.DEVICE_TAINT_RULE",
    ("resource.k8s.io/v1", "DeviceClass"): "device_classes.DEVICE_CLASS",
    ("resource.k8s.io/v1", "ResourceClaim"): "resource_claims.RESOURCE_CLAIM",
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): "resource_claims.RESOURCE_CLAIM_TEMPLATE",
    ("resource.k8s.io/v1", "ResourceSlice"): "resource_slices.RESOURCE_SLICE",
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"): "flow_control.FLOW_SCHEMA",
    (
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
    ): "flow_control.PRIORITY_LEVEL_CONFIGURATION",
    ("apiregistration.k8s.io/v1", "APIService"): "components.API_SERVICE",
    ("v1", "ComponentStatus"): "components.COMPONENT_STATUS",
    ("scheduling.k8s.io/v1", "PriorityClass"): "cluster.PRIORITY_CLASS",
    ("node.k8s.io/v1", "RuntimeClass"): "runtime_classes.RUNTIME_CLASS",
    ("coordination.k8s.io/v1", "Lease"): "cluster.LEASE",
    ("rbac.authorization.k8s.io/v1", "Role"): "rbac.ROLE",
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): "rbac.CLUSTER_ROLE",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "rbac.ROLE_BINDING",
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): "rbac.CLUSTER_ROLE_BINDING",
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
    ): "webhook_configurations.VALIDATING",
    (
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
    ): "webhook_configurations.MUTATING",
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
    ): "validating_admission_policies.POLICY",
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
    ): "validating_admission_policies.POLICY_BINDING",
    **{
        (f"admissionregistration.k8s.io/{version}", kind): f"mutating_admission_policies.{rules}"
        for version in ("v1alpha1", "v1beta1", "v1")
        for kind, rules in (
            ("MutatingAdmissionPolicy", "POLICY"),
            ("MutatingAdmissionPolicyBinding", "POLICY_BINDING"),
        )
    },
    (
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
    ): "certificate_signing_requests.CERTIFICATE_SIGNING_REQUEST",
}

_SHARED_STORAGE = {"events.events.k8s.io": "events"}
"""Resources whose objects are stored under the resource of another group."""
_NOT_STORED = frozenset({"bindings", "componentstatuses"})
_GATED_SUBRESOURCES = (("InPlacePodVerticalScaling", "pods", "resize"),)
"""Feature gates of older releases, with the resource and the subresource that each enables."""
_OTHER_PACKAGES = frozenset({"customresourcedefinitions"})
"""Registered by `server.custom`."""


def build_builtin_resources(gates: Collection[str] = ()) -> Iterator[Resource]:
    """Build the resources of all stored built-in kinds, and of those that gates switch on."""
    for declared in (*builtins.list_resources(), *builtins.list_gated_resources(gates)):
        name = declared.gvr.resource
        if "list" in declared.verbs and name not in _NOT_STORED | _OTHER_PACKAGES:
            yield _build_resource(declared, gates)


def find_rules(gvk: GVK) -> str:
    """Return the module and name of the rules of a kind."""
    return _RULES.get((gvk.api_version, gvk.kind), "rules.DEFAULT_RULES")


def _build_resource(declared: builtins.Resource, gates: Collection[str]) -> Resource:
    parts = {
        part.name: Subresource(name=part.name, verbs=part.verbs, gvk=part.kind)
        for part in declared.subresources
    }
    for gate, resource, name in _GATED_SUBRESOURCES:
        if gate in gates and declared.gvr.group_resource == resource and name not in parts:
            parts[name] = Subresource(name=name, verbs=parts[STATUS].verbs, gvk=declared.kind)
    return Resource(
        gvr=declared.gvr,
        kind=declared.kind.kind,
        list_kind=f"{declared.kind.kind}List",
        singular=declared.singular,
        namespaced=declared.namespaced,
        strategy=BuiltinStrategy(
            declared.kind, find_rules(declared.kind), has_status=STATUS in parts
        ),
        short_names=declared.short_names,
        categories=declared.categories,
        verbs=declared.verbs,
        subresources=parts,
        storage=_SHARED_STORAGE.get(declared.gvr.group_resource, ""),
        deprecation=_find_deprecation(declared.gvr.group_resource),
    )


def _find_deprecation(resource: str) -> str:
    """Return the warning for every response about a deprecated resource; empty for others."""
    if resource == "endpoints" and has_feature("EndpointsAreDeprecated"):
        return "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    return ""
