"""The resources that are read of every cluster, where it serves them."""

from quarterdeck.meta.identity import GVR

NODES = GVR("", "v1", "nodes")
PODS = GVR("", "v1", "pods")
NAMESPACES = GVR("", "v1", "namespaces")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
SERVICES = GVR("", "v1", "services")
STATEFUL_SETS = GVR("apps", "v1", "statefulsets")
DAEMON_SETS = GVR("apps", "v1", "daemonsets")
CONFIG_MAPS = GVR("", "v1", "configmaps")
INGRESSES = GVR("networking.k8s.io", "v1", "ingresses")
NODE_USAGE = GVR("metrics.k8s.io", "v1beta1", "nodes")
CLUSTER_VERSIONS = GVR("config.openshift.io", "v1", "clusterversions")
CLUSTER_OPERATORS = GVR("config.openshift.io", "v1", "clusteroperators")
ROUTES = GVR("route.openshift.io", "v1", "routes")
SUBSCRIPTIONS = GVR("operators.coreos.com", "v1alpha1", "subscriptions")
SERVICE_VERSIONS = GVR("operators.coreos.com", "v1alpha1", "clusterserviceversions")
