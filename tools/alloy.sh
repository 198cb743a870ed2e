#!/usr/bin/env bash
# Builds Alloy's runtime and remotecfg service with two components into .tools/bin/alloy-remotecfg,
# for tests/e2e/go/test_alloy.py. Alloy's packages are internal, so our main is built in a clone.
# ALLOY_SOURCE names another repository than GitHub's. Takes about 20 minutes on one core.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$(mkdir -p "$1/bin" && cd "$1" && pwd)
version=v1.12.2 # the first series that reports FAILED; a newer one has dependencies that proxies lack
main=$root/tests/e2e/go/alloy/main.go
program=$tools/bin/alloy-remotecfg
source=$tools/alloy-$version

if [ -x "$program" ] && [ "$program" -nt "$main" ]; then
    exit 0
fi
for need in go git; do
    if ! command -v "$need" >/dev/null; then
        echo "tools: no $need, Alloy is not built" >&2
        exit 0
    fi
done
if [ ! -d "$source" ]; then
    git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$version" \
        "${ALLOY_SOURCE:-https://github.com/grafana/alloy}" "$source.part" || {
        rm -rf "$source.part"
        echo "tools: grafana/alloy $version cannot be cloned, Alloy is not built" >&2
        exit 0
    }
    mv "$source.part" "$source"
fi
echo "building Alloy $version with its remotecfg service only"
mkdir -p "$source/quarterdeck"
cp "$main" "$source/quarterdeck/main.go"
cd "$source"
nice -n 19 go build -p "${ALLOY_BUILD_JOBS:-1}" -buildvcs=false -ldflags "-s -w -X github.com/grafana/alloy/internal/build.Version=$version" -o "$program" ./quarterdeck || {
    echo "tools: Alloy $version does not build here" >&2
    exit 0
}
