#!/usr/bin/env bash
# Recompiles the pins from pyproject.toml: names, versions and hashes, no addresses.
#
# constraints.txt has everything; the other two are parts of it with the same versions, so that a
# first `make run` downloads only what running needs, and tests only what tests need.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
    local output=$1
    shift
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
        --no-emit-index-url --no-annotate "$@" pyproject.toml -o "$output"
}
extras=(--extra redis --extra obstore --extra otel --extra speed)
compile constraints.txt "${extras[@]}" --group dev --group clients --group bench
compile constraints-test.txt -c constraints.txt "${extras[@]}" --group dev --group clients
compile constraints-run.txt -c constraints.txt --extra redis --extra speed --group build
echo mkdocs-material | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-header --no-emit-index-url --no-annotate - -o constraints-docs.txt
