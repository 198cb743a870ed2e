"""Links of pages, as they are in the repository and as the site has them. Pure.

In the repository a page may link to any file. The site has the pages of `docs/` and three of the
top folder; what leads elsewhere becomes its text and the path.
"""

import posixpath
import re
from collections.abc import Callable

PROJECT = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
"""Files of the top folder, and the pages that stand for them."""

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"(^```.*?^```)", re.S | re.M)


def rewrite_links(text: str, *, source: str, page: str, exists: Callable[[str], bool]) -> str:
    """The text of a page with links for the site.

    `source` is the page's path in the repository, `page` its path in the site, and `exists` says
    whether the site has a page or file.
    """

    def replace(match: re.Match[str]) -> str:
        target, mark, anchor = match["target"].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        found = PROJECT.get(path) or path.removeprefix("docs/")
        if (path in PROJECT or path.startswith("docs/")) and exists(found):
            link = posixpath.relpath(found, posixpath.dirname(page) or ".")
            return f"{match['image']}[{match['text']}]({link}{mark}{anchor})"
        for index in ("README.md", "index.md"):
            if path.startswith("docs/") and exists(posixpath.join(found, index)):
                link = posixpath.relpath(posixpath.join(found, index), posixpath.dirname(page))
                return f"[{match['text']}]({link})"
        return f"{match['text']} (`{path}`)"

    parts = _FENCED.split(text)
    return "".join(part if part[:3] == "```" else _LINK.sub(replace, part) for part in parts)
