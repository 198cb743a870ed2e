#!/usr/bin/env bash
# Records the answers of a real kube-apiserver 1.36.3 anew: tests/golden/newest-v1.36.3.jsonl and
# beta-v1.36.3.jsonl, and what it serves. Builds the server first (tools/kubernetes.sh, needs Go; ten
# minutes on one core). usage: tools/record.sh FOLDER_OF_TOOLS
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/../tests/golden
version=1.36.3
KUBERNETES_VERSION=$version "$here/kubernetes.sh" "$1"
programs=$(cd "$1/kubernetes-$version" && pwd)
if [ ! -x "$programs/kube-apiserver" ] || [ ! -x "$programs/etcd" ]; then
    echo "record: no kube-apiserver $version in $programs" >&2
    exit 1
fi
work=$(mktemp -d)
started=()
stop() {
    # not asked to end: a kube-apiserver without etcd waits for it
    for each in "${started[@]}"; do kill -9 "$each" 2>/dev/null || true; done
    wait 2>/dev/null
    started=()
}
trap 'stop; rm -rf "$work"' EXIT
openssl genrsa -out "$work/key" 2048 2>/dev/null
echo 'recorder,admin,admin,system:masters' >"$work/tokens"

# begin PORT FLAG...: a fresh server that lets everyone do everything, without controllers
begin() {
    local port=$1 data
    shift
    data=$(mktemp -d -p "$work")
    "$programs/etcd" --data-dir "$data/etcd" --unsafe-no-fsync \
        --listen-client-urls "http://127.0.0.1:$((port + 1))" \
        --advertise-client-urls "http://127.0.0.1:$((port + 1))" \
        --listen-peer-urls "http://127.0.0.1:$((port + 2))" \
        --initial-advertise-peer-urls "http://127.0.0.1:$((port + 2))" \
        --initial-cluster "default=http://127.0.0.1:$((port + 2))" >"$data/etcd.log" 2>&1 &
    started+=($!)
    "$programs/kube-apiserver" --etcd-servers "http://127.0.0.1:$((port + 1))" \
        --bind-address 127.0.0.1 --secure-port "$port" --cert-dir "$data/certificates" \
        --service-account-issuer https://kubernetes.default.svc \
        --service-account-key-file "$work/key" --service-account-signing-key-file "$work/key" \
        --token-auth-file "$work/tokens" --authorization-mode AlwaysAllow \
        --disable-admission-plugins ServiceAccount --service-cluster-ip-range 10.96.0.0/16 \
        "$@" >"$data/server.log" 2>&1 &
    started+=($!)
    for _ in $(seq 120); do
        if curl -sk -H 'Authorization: Bearer recorder' "https://127.0.0.1:$port/readyz" | grep -q '^ok'; then
            return
        fi
        sleep 1
    done
    tail -5 "$data/server.log" >&2
    exit 1
}

begin 26500
python3 "$here/record_answers.py" https://127.0.0.1:26500 "$golden/newest-v$version.jsonl" \
    --token recorder --discovery "$golden/discovery-v$version.json"
stop
begin 26510 \
    --runtime-config=certificates.k8s.io/v1beta1=true,storagemigration.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true \
    --feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true,PodCertificateRequest=true,StorageVersionMigrator=true,DRADeviceTaintRules=true
python3 "$here/record_answers.py" https://127.0.0.1:26510 "$golden/beta-v$version.jsonl" --token recorder
