"""`python tools/docs_site/versions.py SITE NEWEST`: list the versions of a site beside them."""

import json
import sys
from pathlib import Path


def write_list(site: Path, newest: str) -> None:
    """Write versions.json, which the theme reads, and a page that leads to the newest version."""
    names = sorted((each.parent.name for each in site.glob("*/index.html")), reverse=True)
    versions = [
        {"version": name, "title": name, "aliases": ["latest"] if name == newest else []}
        for name in names
    ]
    (site / "versions.json").write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={newest}/">\n'
    (site / "index.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write_list(Path(sys.argv[1]), sys.argv[2])
