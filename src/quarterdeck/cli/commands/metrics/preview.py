"""`quarterdeck metrics preview`: what a MetricSource in a file would collect."""

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError
from quarterdeck.cli.flags import Context, Form, Kubeconfig, Output
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.apis.clusterpulse.v1alpha1 import MetricSource
    from quarterdeck.client.client import Client
    from quarterdeck.engine import Collector, CompiledSource, Problem, Resource
    from quarterdeck.engine.alerts import Finding

Page = Sequence[Mapping[str, Any]]
DEFAULT_ROWS = 20
_OBJECTS = "--objects"


async def preview(
    file: Annotated[
        str, Argument(metavar="FILE", help="Manifest with MetricSources; - for standard input.")
    ],
    objects: Annotated[
        str,
        Option(
            _OBJECTS,
            metavar="PATH",
            help="File or folder of objects to collect (default: objects of the cluster).",
        ),
    ] = "",
    rows: Annotated[
        int, Option("--rows", metavar="N", help="Show at most N objects.", minimum=0)
    ] = DEFAULT_ROWS,
    output: Output = Form.TABLE,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show the objects, values, aggregations and alerts that the MetricSources of a file give."""
    from quarterdeck.cli import manifest_files

    sources = [_decode(each, file) for each in _read_metric_sources(file)]
    compiled = [_compile(each) for each in sources]
    if objects:
        given = manifest_files.read([objects], flag=_OBJECTS)
        found = [await _collect(each, _list_from_file(each, given), rows) for each in compiled]
    else:
        async with connect(kubeconfig, context) as client:
            work = (_collect(each, _list_from_cluster(each, client), rows) for each in compiled)
            found = [await with_progress(each, f"reading {client.config.server}") for each in work]
    for source, each in zip(sources, found, strict=True):
        _print(source, each, output, is_several=len(sources) > 1)


COMMAND = Command(preview)


class Preview:
    """What one source gave."""

    def __init__(self, source: "CompiledSource", collector: "Collector") -> None:
        from quarterdeck.engine import validate_fields

        self.source = source
        self.collector = collector
        self.resources: list[Resource] = []
        self.aggregations: dict[str, Any] = {}
        self.alerts: list[Finding] = []
        """Rules that hold now, whatever their forSeconds."""
        self.validate = validate_fields

    def document(self) -> dict[str, Any]:
        """Everything as plain data."""
        import msgspec

        found: dict[str, Any] = msgspec.to_builtins(
            {
                "resourceCount": self.collector.count,
                "truncated": self.collector.is_truncated,
                "resources": self.resources,
                "aggregations": self.aggregations,
                "alerts": [
                    {
                        "name": each.rule.name,
                        "severity": each.rule.severity,
                        "group": each.group,
                        "message": each.describe(),
                    }
                    for each in self.alerts
                ],
                "fieldValidation": self.validate(self.source.spec, (self.collector,)),
            }
        )
        return found


def _read_metric_sources(file: str) -> list[dict[str, Any]]:
    from quarterdeck.cli import manifest_files

    found = [each for each in manifest_files.read([file], flag="FILE") if _is_source(each)]
    if not found:
        raise CommandError(f"{file}: no MetricSource of clusterpulse.io/v1alpha1 found", REFUSED)
    return found


def _is_source(document: Mapping[str, Any]) -> bool:
    return (document["apiVersion"], document["kind"]) == (
        "clusterpulse.io/v1alpha1",
        "MetricSource",
    )


def _decode(document: dict[str, Any], file: str) -> "MetricSource":
    """A MetricSource that fits its schema.

    Raises:
        CommandError: with every field that does not.
    """
    from quarterdeck.apis.clusterpulse.v1alpha1 import MetricSource
    from quarterdeck.kit import json
    from quarterdeck.meta import crd
    from quarterdeck.meta.objects import decode
    from quarterdeck.meta.structural import compile_schema

    name = document["metadata"]["name"]
    errors = compile_schema(crd.build_schema(MetricSource)).validate(document)
    if errors:
        text = "; ".join(str(error) for error in errors)
        raise CommandError(f"{file}: MetricSource {name} is invalid: {text}", FAILED)
    return decode(MetricSource, json.encode(document))


def _compile(source: "MetricSource") -> "CompiledSource":
    from quarterdeck.engine import SourceError, compile_source

    try:
        return compile_source(source.spec)
    except SourceError as error:
        for problem in error.problems:
            print(format_problem(problem), file=sys.stderr)
        count = len(error.problems)
        raise CommandError(
            f"MetricSource {source.metadata.name} cannot be compiled: {count} "
            f"{'problem' if count == 1 else 'problems'}",
            FAILED,
        ) from error


def format_problem(problem: "Problem") -> str:
    """The problem, and the text it is in with a mark below the place."""
    if problem.position is None:
        return str(problem)
    start = max(0, problem.position - 60)
    line = problem.text[start : start + 100].replace("\n", " ").replace("\t", " ")
    return f"{problem}\n  {line}\n  {' ' * (problem.position - start)}^"


async def _collect(source: "CompiledSource", pages: AsyncIterator[Page], rows: int) -> Preview:
    from quarterdeck.kit.clock import SystemClock

    now = SystemClock().now()
    found = Preview(source, source.collector(now=now))
    async for page in pages:
        batch = found.collector.feed(page)
        if (missing := rows - len(found.resources)) > 0:
            found.resources += batch.resources()[:missing]
        if found.collector.is_full:
            break
    found.aggregations = found.collector.finish()
    found.alerts = [
        each for rule in source.alerts for each in rule.evaluate(found.aggregations, now)
    ]
    return found


async def _list_from_file(source: "CompiledSource", given: Page) -> AsyncIterator[Page]:
    """The objects of a file that the source selects."""
    target = source.spec.source
    selector = target.label_selector
    wanted = (target.api_version, target.kind)
    found = [
        each
        for each in given
        if (each["apiVersion"], each["kind"]) == wanted
        and (selector is None or selector.matches(each["metadata"].get("labels") or {}))
    ]
    if not found:
        kinds = sorted({f"{each['apiVersion']} {each['kind']}" for each in given})
        raise CommandError(
            f"no {target.kind} of {target.api_version} found in the files of {_OBJECTS}; "
            f"found: {', '.join(kinds)}",
            FAILED,
        )
    yield found


async def _list_from_cluster(source: "CompiledSource", client: "Client") -> AsyncIterator[Page]:
    """The objects of the cluster that the source selects, page by page."""
    from quarterdeck.meta.identity import GVK, GVR
    from quarterdeck.wire.query import ListOptions

    target = source.target
    if target.resource:
        is_namespaced = target.is_namespaced
        gvr = GVR(target.group, target.version, target.resource)
    else:
        _, found = await client.discover_resource(GVK(target.group, target.version, target.kind))
        gvr, is_namespaced = found.gvr, found.namespaced
    options = ListOptions(
        label_selector=target.label_selector, limit=source.spec.collection.batch_size
    )
    names = target.namespaces.names if is_namespaced else None
    for namespace in names if names is not None else ("",):
        async for page in client.resource(gvr).iterate_pages(namespace, options):
            yield page


def _print(source: "MetricSource", found: Preview, output: Form, *, is_several: bool) -> None:
    from quarterdeck.cli.output import format_columns, format_pretty
    from quarterdeck.kit import yaml

    if output is Form.JSON:
        print(format_pretty(found.document()))
        return
    if output is Form.YAML:
        print(yaml.dump_all([found.document()]), end="")
        return
    if output is Form.NAME:
        print("\n".join(resource.id for resource in found.resources))
        return
    parts = [f"MetricSource {source.metadata.name}:"] if is_several else []
    if found.resources:
        parts.append(format_columns(build_resource_rows(found)))
    parts.append(_summarize(found))
    if found.aggregations:
        parts.append(format_columns(build_aggregation_rows(found.aggregations)))
    if found.alerts:
        rows = [[each.rule.name, each.rule.severity, each.describe()] for each in found.alerts]
        parts.append(format_columns([["ALERT", "SEVERITY", "MESSAGE"], *rows]))
    doubts = [
        [each["field"], each["status"], each["message"]]
        for each in found.document()["fieldValidation"]
        if each["status"] != "valid"
    ]
    if doubts:
        parts.append(format_columns([["FIELD", "STATUS", "MESSAGE"], *doubts]))
    print("\n\n".join(parts))


def _summarize(found: Preview) -> str:
    count, shown = found.collector.count, len(found.resources)
    text = f"{count} {'object' if count == 1 else 'objects'}"
    if shown < count:
        text += f", {shown} shown: use --rows for more"
    if found.collector.is_truncated or found.collector.is_full:
        text += "; collection.maxResources is reached"
    return text


def build_resource_rows(found: Preview) -> list[list[str]]:
    """Objects with their values, head first."""
    has_namespaces = any(resource.namespace for resource in found.resources)
    spec = found.source.spec
    names = [*(field.name for field in spec.fields), *(each.name for each in spec.computed)]
    head = [*(["NAMESPACE"] if has_namespaces else []), "NAME", *(name.upper() for name in names)]
    return [
        head,
        *(
            [
                *([resource.namespace] if has_namespaces else []),
                resource.name,
                *(_format_cell(resource.values[name]) for name in names),
            ]
            for resource in found.resources
        ),
    ]


def build_aggregation_rows(values: Mapping[str, Any]) -> list[list[str]]:
    """Aggregations with their values, one line per group, head first."""
    rows = [["AGGREGATION", "GROUP", "VALUE"]]
    for name, value in values.items():
        if isinstance(value, dict):
            rows += [[name, key, _format_cell(value[key])] for key in sorted(value)]
        else:
            rows.append([name, "", _format_cell(value)])
    if not any(row[1] for row in rows[1:]):
        return [[row[0], row[2]] for row in rows]
    return rows


def _format_cell(value: object) -> str:
    from quarterdeck.engine.values import to_text

    return "<none>" if value is None else to_text(value)
