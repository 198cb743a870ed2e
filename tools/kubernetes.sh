#!/usr/bin/env bash
# Builds etcd and Kubernetes' own programs from their published Go modules into .tools/kubernetes,
# for `make test-full`: a real API server, and a real node with containerd. Needs Go; takes about ten
# minutes on one core and 450 MB.
#
# Kubernetes' module names its libraries by folders of its repository. They are published as modules
# of the same version, which this script names instead; where a proxy lacks that version of a
# library, an older one of the same minor version takes its place.
#
# KUBERNETES_VERSION=1.36.3 builds another release into .tools/kubernetes-1.36.3, and of that only
# what tools/record.sh needs: etcd and kube-apiserver.
set -euo pipefail
# shellcheck source=tools/go.sh
source "$(dirname "$0")/go.sh"
usual=1.32.10
version=${KUBERNETES_VERSION:-$usual}
folder=kubernetes
older=(0.32.9 0.32.5)
etcd=go.etcd.io/etcd/server/v3@v3.5.16 # what this Kubernetes is tested with
programs=(kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet)
if [ "$version" != "$usual" ]; then
    folder=kubernetes-$version older=() programs=(kube-apiserver)
fi
minor=${version#1.}
minor=${minor%%.*}
target=$(mkdir -p "$1/$folder" && cd "$1/$folder" && pwd)

missing=0
for each in etcd "${programs[@]}"; do
    [ -x "$target/$each" ] || missing=1
done
if [ "$missing" -eq 0 ]; then
    exit 0
fi
go=$(find_go "$(dirname "$target")")
if [ -z "$go" ]; then
    echo "tools: no Go toolchain, Kubernetes is not built" >&2
    exit 0
fi
echo "building Kubernetes $version and etcd"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOFLAGS=-mod=mod
"$go" mod init node >/dev/null 2>&1
source=$("$go" mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')

has_version() {
    "$go" mod download "k8s.io/$1@v$2" >/dev/null 2>&1
}
for library in $(sed -n 's#^\tk8s.io/\([a-z-]*\) => ./staging.*#\1#p' "$source/go.mod"); do
    found=0.${version#1.}
    if grep -rqs --include='*.go' "\"k8s.io/$library[/\"]" "$source/cmd" "$source/pkg" && ! has_version "$library" "$found"; then
        for found in "${older[@]}"; do
            if has_version "$library" "$found"; then break; fi
        done
        echo "tools: k8s.io/$library has no version 0.${version#1.} here; taking $found" >&2
    fi
    "$go" mod edit -replace "k8s.io/$library=k8s.io/$library@v$found"
done
"$go" mod edit -require "k8s.io/kubernetes@v$version" -require "$etcd"
stamp="-s -w -X k8s.io/component-base/version.gitVersion=v$version"
stamp+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor"
for each in "${programs[@]}"; do
    nice -n 19 "$go" build -trimpath -ldflags "$stamp" -o "$target/$each" "k8s.io/kubernetes/cmd/$each" || {
        echo "tools: $each could not be built; tests that need it are skipped" >&2
    }
done
nice -n 19 "$go" build -trimpath -ldflags "-s -w" -o "$target/etcd" "${etcd%@*}" || {
    echo "tools: etcd could not be built; tests that need it are skipped" >&2
}
