#!/usr/bin/env bash
# Runs every check and lists all failures at the end, so that one run tells everything.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=()
run() {
    local name=$1
    shift
    if "$@" >"/tmp/quarterdeck-check.$$" 2>&1; then
        echo "ok    $name"
    else
        echo "FAIL  $name"
        sed 's/^/      /' "/tmp/quarterdeck-check.$$" | tail -60
        failed+=("$name")
    fi
    rm -f "/tmp/quarterdeck-check.$$"
}
run format ruff format --check .
run lint ruff check .
run types mypy
run imports lint-imports
run generated python -m quarterdeck.codegen verify
run benchmarks python -m bench.report --check
run docs python -m pytest -q -n 0 tests/unit/docs
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
