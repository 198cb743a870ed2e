"""Marks become template actions where they stand; everything else stays what it was."""

from typing import Any

from quarterdeck.codegen import helm_template as helm

CONDITION = ".Values.on"


def render(document: dict[str, Any]) -> list[str]:
    lines = helm.render([document], condition=CONDITION).splitlines()
    assert lines[:2] == ["{{- if .Values.on }}", "---"]
    assert lines[-1] == "{{- end }}"
    return lines[2:-1]


def test_a_value_stands_bare() -> None:
    assert render({"replicas": helm.render_value(".Values.replicas")}) == [
        "replicas: {{ .Values.replicas }}"
    ]


def test_a_block_is_left_out_where_it_is_empty() -> None:
    assert render({"spec": {"nodeSelector": helm.render_block(".Values.nodeSelector")}}) == [
        "spec:",
        "{{- with .Values.nodeSelector }}",
        "  nodeSelector:",
        "{{- toYaml . | nindent 4 }}",
        "{{- end }}",
    ]


def test_items_follow_the_entries_that_are_there() -> None:
    assert render({"args": ["run", helm.render_items(".Values.extraArgs")]}) == [
        "args:",
        "- run",
        "{{- with .Values.extraArgs }}",
        "{{- toYaml . | nindent 0 }}",
        "{{- end }}",
    ]


def test_expressions_inside_texts_are_quoted() -> None:
    name = helm.render_text(".Release.Namespace")
    assert render({"url": f"https://hub.{name}.svc"}) == [
        "url: https://hub.{{ .Release.Namespace }}.svc"
    ]
    assert render({"namespace": name}) == ["namespace: '{{ .Release.Namespace }}'"]


def test_braces_of_the_document_are_no_actions() -> None:
    (line,) = render({"summary": "{{ $labels.name }} fails"})
    assert line == "summary: '{{ `{{` }} $labels.name {{ `}}` }} fails'"
