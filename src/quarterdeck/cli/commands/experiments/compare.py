"""`quarterdeck experiments compare`: the results of two runs side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import FAILED, OK, REFUSED, CommandError
from quarterdeck.cli.experiments import (
    JsonReport,
    Junit,
    get_experiment,
    read_result,
    write_reports,
)
from quarterdeck.cli.flags import Context, Form, Kubeconfig, Namespace, Output, split_names
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.operators.experiments.results.comparison import Comparison
    from quarterdeck.operators.experiments.results.document import Result

Run = Annotated[
    str,
    Argument(metavar="RUN", help="Experiment, or file or address of its results."),
]


async def compare(
    a: Run,
    b: Run,
    fail_on_regression: Annotated[
        bool, Option("--fail-on-regression", help="Exit 1 if a metric of B is worse than of A.")
    ] = False,
    lower: Annotated[
        str,
        Option(
            "--lower-is-better", metavar="A,B", help="Metrics for which a lower value is better."
        ),
    ] = "",
    higher: Annotated[
        str,
        Option(
            "--higher-is-better", metavar="A,B", help="Metrics for which a higher value is better."
        ),
    ] = "",
    threshold: Annotated[
        str,
        Option(
            "--threshold",
            metavar="PERCENT",
            help="Ignore differences of the mean below this percentage.",
        ),
    ] = "0",
    output: Output = Form.TABLE,
    junit: Junit = "",
    report: JsonReport = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> int:
    """Compare each metric: difference, 95 % bootstrap interval, Mann-Whitney p."""
    from quarterdeck.operators.experiments.results import report as reports
    from quarterdeck.operators.experiments.results.comparison import Rules
    from quarterdeck.operators.experiments.results.comparison import compare as compare_results

    rules = Rules(
        lower=frozenset(split_names(lower)),
        higher=frozenset(split_names(higher)),
        min_percent=_read_percent(threshold),
    )
    where = (namespace, kubeconfig, context)
    first, second = await _load(a, *where), await _load(b, *where)
    found = compare_results(first, second, rules)
    _print(found, output)
    write_reports(reports.build_comparison(found), junit=junit, report=report)
    return FAILED if fail_on_regression and found.regressions else OK


COMMAND = Command(compare)


def _read_percent(text: str) -> float:
    try:
        found = float(text.removesuffix("%"))
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise CommandError(f"invalid percentage {text!r} (--threshold): give 5 or 2.5", REFUSED)
    return found


async def _load(run: str, namespace: str, kubeconfig: str, context: str) -> "Result":
    """The result of a run: from a file, an address, or an experiment of the cluster."""
    if "://" not in run and (run.endswith(".json") or "/" in run):
        return _read_file(run)
    async with connect(kubeconfig, context) as client:
        if "://" in run:
            return await read_result(client, run)
        found = await get_experiment(client, run, namespace or client.namespace)
        url = found.status.results_url
        if url in ("", "disabled"):
            phase = found.status.phase or "Pending"
            raise CommandError(f"experiment {found.key} is {phase} and has no results", FAILED)
        return await read_result(client, url)


def _read_file(name: str) -> "Result":
    from quarterdeck.operators.experiments.results.document import SUMMARY, ResultError, decode

    path = Path(name).expanduser()
    try:
        return decode((path / SUMMARY if path.is_dir() else path).read_bytes())
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror or error}", REFUSED) from error
    except ResultError as error:
        raise CommandError(f"{name}: {error}", FAILED) from error


def _print(found: "Comparison", output: Form) -> None:
    import msgspec

    from quarterdeck.cli.output import format_columns, format_pretty
    from quarterdeck.kit import yaml
    from quarterdeck.operators.experiments.results.report import build_rows

    if output in (Form.JSON, Form.YAML):
        document = msgspec.to_builtins(found)
        print(format_pretty(document) if output is Form.JSON else yaml.dump(document).rstrip())
        return
    if output is Form.NAME:
        print("\n".join(each.name for each in found.metrics))
        return
    if not found.metrics:
        print(f"{found.a} and {found.b} have no metrics")
        return
    print(format_columns(build_rows(found)))
    if any(each.interval is None for each in found.metrics):
        print("\nmetrics with one value per run have no interval; repeat runs with spec.repeats")
