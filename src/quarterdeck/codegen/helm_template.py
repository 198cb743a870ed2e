"""Documents with open values become templates of a Helm chart. Pure.

A document is plain data whose open values are marks made by the functions here. Dumping it as YAML
gives lines with marks, and each mark becomes the template action it stands for, at the indentation
where it was found. So the shape of an object is written once, in `app`, for kustomize and Helm.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from quarterdeck.kit import yaml

_VALUE = re.compile(r"^(?P<indent>[ -]*)(?P<key>[\w.\-/]+): '?@helm (?P<what>\w+) (?P<text>.*?)'?$")
_ITEM = re.compile(r"^(?P<indent> *)- '?@helm items (?P<text>.*?)'?$")
_LITERAL = re.compile(r"\{\{|\}\}")


def render_value(expression: str) -> str:
    """A scalar: `replicas: {{ .Values.replicas }}`."""
    return f"@helm value {expression}"


def render_block(path: str) -> str:
    """A mapping or list at `path`; the key is left out where it is empty."""
    return f"@helm block {path}"


def render_items(path: str) -> str:
    """As an entry of a list: the entries of the list at `path`, if any."""
    return f"@helm items {path}"


def render_text(expression: str) -> str:
    """An expression inside a text, such as a name; quoted in the result."""
    return f"@[{expression}]@"


def render(documents: Iterable[Mapping[str, Any]], *, condition: str) -> str:
    """The template of documents that are there where the condition holds."""
    body = "".join(_render_document(document) for document in documents)
    return f"{{{{- if {condition} }}}}\n{body}{{{{- end }}}}\n"


def _render_document(document: Mapping[str, Any]) -> str:
    dumped = yaml.dump(dict(document))
    lines = [_render_line(_escape(line)) for line in dumped.splitlines()]
    return "---\n" + "\n".join(lines) + "\n"


def _escape(line: str) -> str:
    """Braces that are in the document itself mean nothing to Helm."""
    escaped = _LITERAL.sub(lambda found: "{{ `" + found.group() + "` }}", line)
    return escaped.replace("@[", "{{ ").replace("]@", " }}")


def _render_line(line: str) -> str:
    if found := _ITEM.match(line):
        width = len(found["indent"])
        return _render_with(found["text"], [f"{{{{- toYaml . | nindent {width} }}}}"])
    if not (found := _VALUE.match(line)):
        return line
    head = f"{found['indent']}{found['key']}:"
    if found["what"] == "value":
        return f"{head} {{{{ {found['text']} }}}}"
    width = len(found["indent"]) + 2
    return _render_with(found["text"], [head, f"{{{{- toYaml . | nindent {width} }}}}"])


def _render_with(path: str, lines: list[str]) -> str:
    return "\n".join([f"{{{{- with {path} }}}}", *lines, "{{- end }}"])
