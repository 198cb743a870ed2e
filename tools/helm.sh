#!/usr/bin/env bash
# Builds helm from its published Go module into .tools/bin, for `make test-full`. Does nothing where
# a helm is on the PATH already, or where there is no Go (tools/kubectl.sh may have fetched one).
set -euo pipefail
# shellcheck source=tools/go.sh
source "$(dirname "$0")/go.sh"
tools=$(mkdir -p "$1/bin" && cd "$1" && pwd)
version=v3.18.6

if [ -x "$tools/bin/helm" ] || command -v helm >/dev/null; then
    exit 0
fi
go=$(find_go "$tools")
if [ -z "$go" ]; then
    echo "tools: no Go toolchain, helm is not built" >&2
    exit 0
fi
echo "building helm $version"
GOBIN="$tools/bin" "$go" install -trimpath -ldflags "-s -w" "helm.sh/helm/v3/cmd/helm@$version"
"$tools/bin/helm" version --short
