"""What MkDocs calls while it builds: pages of the top folder, and links that lead out of docs/."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from mkdocs.structure.files import File, Files

from docs_site.links import PROJECT, rewrite_links

ROOT = Path(__file__).parents[2]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that stand in the top folder of the repository."""
    for source, page in PROJECT.items():
        if page.startswith("project/"):
            text = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links to where the site has what they name."""
    path = page.file.src_uri
    origins = {value: key for key, value in PROJECT.items() if value != "index.md"}
    return rewrite_links(
        markdown,
        source=origins.get(path, f"docs/{path}"),
        page=path,
        exists=lambda name: files.get_file_from_path(name) is not None,
    )
