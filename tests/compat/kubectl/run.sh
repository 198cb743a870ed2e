#!/usr/bin/env bash
# Runs kubectl's command tests, unmodified, against a server that runs already. The working folder
# holds the fetched scripts; SECURE_API_PORT is where the server listens. Each group of tests prints
# "Recording: NAME" when it begins, and "Error when running NAME" if it failed.
set -o errexit -o nounset -o pipefail

export ALLOW_SKEW=1 # kubectl and the server need not be of the same patch release
export KUBE_JUNIT_REPORT_DIR=$PWD/junit
mkdir -p "$KUBE_JUNIT_REPORT_DIR"
source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh

# What their setup does, without building and starting etcd, kube-apiserver and its controllers.
trap stop-proxy EXIT
kube::util::ensure-temp-dir
kube::util::ensure-gnu-sed
HOME=$KUBE_TEMP
CONTEXT=test
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT"
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"

# Several groups expect this node; there is no kubelet that would register it.
kubectl create -f - <<'NODE'
{
  "apiVersion": "v1",
  "kind": "Node",
  "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}},
  "status": {"capacity": {"memory": "1Gi"}}
}
NODE

export SUPPORTED_RESOURCES=("*")
runTests
