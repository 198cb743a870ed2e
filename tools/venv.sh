#!/usr/bin/env bash
# Makes the virtual environment from constraints.txt: every package pinned and checked by its hash.
set -euo pipefail
python=$1 venv=$2
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "quarterdeck needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2
    exit 2
fi
if [ ! -x "$venv/bin/pip" ]; then
    rm -rf "$venv"
    if ! "$python" -m venv "$venv" 2>/dev/null; then
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            echo "installing python3-venv" >&2
            (apt-get update && apt-get install -y python3-venv) >/dev/null
            "$python" -m venv "$venv"
        else
            echo "python3 cannot make a virtual environment; install the package python3-venv" >&2
            exit 2
        fi
    fi
fi
echo "installing dependencies into $venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
touch "$venv/.installed"
