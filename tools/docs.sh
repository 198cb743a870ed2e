#!/usr/bin/env bash
# Builds the documentation into build/site/VERSION, with a list of the versions beside it.
#
#   tools/docs.sh PYTHON TOOLS
#
# MkDocs and Material live in an environment of their own in TOOLS, pinned by constraints-docs.txt,
# so that neither running nor testing needs them. Versions are plain folders: building another
# version adds a folder, and nothing has to be committed to a branch.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 venv=$2/docs
if [ ! -e "$venv/.installed" ] || [ constraints-docs.txt -nt "$venv/.installed" ]; then
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r constraints-docs.txt
    touch "$venv/.installed"
fi
version=$(sed -nE 's/^__version__ = "(.*)"/\1/p' src/quarterdeck/__init__.py)
site=build/site
NO_MKDOCS_2_WARNING=1 "$venv/bin/python" -m mkdocs build --quiet --strict --site-dir "$site/$version"
"$python" tools/docs_site/versions.py "$site" "$version"
echo "docs: $site/index.html (version $version); look at it with: $python -m http.server -d $site --bind 127.0.0.1"
