#!/bin/sh
# Refuses to release an image whose base can change: BASE must name a digest.
set -eu
base=${BASE:-}
digest=$(printf '%s' "$base" | sed -nE 's/^[^@[:space:]]+@sha256:([0-9a-f]{64})$/\1/p')
if [ -z "$digest" ]; then
    echo "release-check: BASE is '${base}', expected NAME@sha256:DIGEST with 64 hexadecimal digits;" \
        "look the digest up in the registry and give it, as in make release-check BASE=python@sha256:..." >&2
    exit 1
fi
echo "release-check: the base image is $base"
