#!/usr/bin/env bash
# Makes or extends the virtual environment: every package pinned and checked by its hash.
#
# The pins are complete, so pip resolves nothing (`--no-deps`): when it does, it reads the newest
# release of a package that another one asks for with extras (`httpx2[http2]`) before the pin, and
# stops as that has no hash. `pip check` tells of pins that are missing.
#
#   tools/venv.sh PYTHON VENV run|test|bench
#
# `run` installs what running needs, `test` adds what tests and checks need, `bench` the peers that
# benchmarks compare us with.
set -euo pipefail
python=$1 venv=$2 purpose=$3
case $purpose in
run) pins=constraints-run.txt ;;
test) pins=constraints-test.txt ;;
bench) pins=constraints.txt ;;
*)
    echo "venv.sh: unknown purpose '$purpose'; use run, test or bench" >&2
    exit 2
    ;;
esac
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

total=$(grep -c == "$pins")
is_terminal=
if [ -t 1 ]; then is_terminal=1; fi
show_progress() { # of pip, as a number of packages; a log gets only the last line
    awk -v total="$total" -v is_terminal="$is_terminal" '
        function show(text) { if (is_terminal) { printf "\r  %-40s", text; fflush() } }
        /^(Collecting|Processing) / { show(++n " of " total " packages") }
        /^Installing collected packages/ { show("unpacking " total " packages") }
        END { if (is_terminal && n) print "" }'
}
pip() {
    "$venv/bin/pip" "$@" --disable-pip-version-check --progress-bar off
}

# What running needs is kept as wheels, so that a second `make run` after `make clean` needs no
# network. Test and benchmark packages are many and are not kept.
wheels=${XDG_CACHE_HOME:-$HOME/.cache}/quarterdeck/wheels
echo "installing what '$purpose' needs into $venv ($total packages)"
if [ "$purpose" = run ]; then
    install_kept() { pip install --no-index --find-links "$wheels" --require-hashes --no-deps -r "$pins" | show_progress; }
    if ! install_kept 2>/dev/null; then
        pip download --require-hashes --no-deps -r "$pins" --dest "$wheels" | show_progress
        install_kept
    fi
else
    pip install --require-hashes --no-deps -r "$pins" | show_progress
    "$venv/bin/pip" check --disable-pip-version-check | sed '/^No broken requirements/d'
fi
pip install --quiet --no-deps --no-build-isolation -e .
touch "$venv/.installed-run"
[ "$purpose" = run ] || touch "$venv/.installed-test"
[ "$purpose" != bench ] || touch "$venv/.installed-bench"
