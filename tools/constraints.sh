#!/usr/bin/env bash
# Recompiles constraints.txt from pyproject.toml: names, versions and hashes, no addresses.
set -euo pipefail
cd "$(dirname "$0")/.."
uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
    --no-emit-index-url --no-annotate --extra redis --extra obstore --extra otel --extra speed \
    --group dev --group clients --group bench pyproject.toml -o constraints.txt
