"""The names of the controllers of the life cycle, for flags that choose among them.

They are written down, and compared with the controllers by a test, because the simulated ones are
loaded only where they run.
"""

from typing import Final

CONTROLLER_NAMES: Final = frozenset(
    {
        "clusterrole-aggregation-controller",
        "cronjob-controller",
        "csrsigning",
        "daemonset-controller",
        "deployment-controller",
        "disruption-controller",
        "endpoint-controller",
        "event-expiry",
        "garbage-collector",
        "horizontal-pod-autoscaler",
        "job-controller",
        "kubelet",
        "legacy-serviceaccount-token-controller",
        "namespace-contents",
        "namespace-controller",
        "node-down",
        "node-health",
        "node-lifecycle",
        "persistentvolume-controller",
        "pod-end",
        "replicaset-controller",
        "replication-controller",
        "resourcequota-controller",
        "scheduler",
        "statefulset-controller",
        "validatingadmissionpolicy-status",
        "volume-protection",
    }
)
