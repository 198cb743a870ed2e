"""Renders the OpenAPI document as an HTML page with one section per endpoint. Pure.

The page is one file without scripts, so that it works offline and with the strictest Content
Security Policy.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "h2{font:600 16px monospace;margin:2em 0 0}td,th{text-align:left;padding:2px 12px 2px 0}"
    "p{margin:.2em 0}"
)
HEADERS = (
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
)


def build_page(document: Mapping[str, Any], *, document_url: str) -> bytes:
    """Render the page of a document; `document_url` is the address of the JSON document."""
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    sections = "".join(_render_sections(document))
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"<p>{escape(document['info']['description'])}</p>"
        f'<p>For programs: <a href="{escape(document_url)}">{escape(document_url)}</a></p>'
        f"{sections}</body></html>\n"
    )
    return text.encode()


def _render_sections(document: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            anchor = escape(operation["operationId"])
            yield f'<h2 id="{anchor}">{method.upper()} {escape(path)}</h2>'
            yield f"<p>{escape(operation['summary'])}</p>"
            yield _render_parameters(operation["parameters"])
            statuses = ", ".join(operation["responses"])
            yield f"<p>Answers: {escape(statuses)}</p>"


def _render_parameters(parameters: list[Mapping[str, Any]]) -> str:
    if not parameters:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(each['name'])}</code></td><td>{escape(each['in'])}</td>"
        f"<td>{'required' if each['required'] else ''}</td><td>{_default(each['schema'])}</td></tr>"
        for each in parameters
    )
    return f"<table><tr><th>Parameter</th><th>In</th><th></th><th>Default</th></tr>{rows}</table>"


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return escape(str(default)) if default not in (None, "", []) else ""
