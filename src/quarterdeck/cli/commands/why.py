"""`quarterdeck why`: why an object was reconciled, and the result."""

from typing import Annotated, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.exit_codes import FAILED, REFUSED, CommandError
from quarterdeck.cli.flags import Kind, OneName, ReportForm, ReportOutput, split_target
from quarterdeck.cli.parameters import Option


async def why(
    kind: Kind,
    name: OneName = "",
    namespace: Annotated[
        str, Option("--namespace", "-n", metavar="NAME", help="Namespace of the object.")
    ] = "default",
    health: Annotated[
        str,
        Option(
            "--health",
            metavar="URL",
            env="QUARTERDECK_HEALTH_URL",
            help="Health address of the operator process.",
        ),
    ] = "http://127.0.0.1:8081",
    limit: Annotated[
        int, Option("--limit", minimum=1, metavar="N", help="Show at most N, newest first.")
    ] = 5,
    output: ReportOutput = ReportForm.TABLE,
) -> None:
    """Show the last reconciles of an object: cause, reads, writes, result."""
    from quarterdeck.cli.output import format_report
    from quarterdeck.kit.terminal import escape_controls

    kind, name = split_target(kind, name)
    if not name:
        raise CommandError("NAME is required: quarterdeck why KIND NAME", REFUSED)
    document = await _fetch(f"{health.rstrip('/')}/explain/{kind}/{namespace}/{name}", health)
    if output is not ReportForm.TABLE:
        print(format_report(document, output))
        return
    recorded = [each for each in document["controllers"] if each["reconciles"]]
    for controller in recorded or document["controllers"]:  # others know the kind, not the object
        print(f"controller {controller['controller']}")
        records = controller["reconciles"][:limit]
        if not records:
            print(f"  no recorded reconcile of {namespace}/{name}")
        for record in records:
            print(escape_controls("\n".join(format_record(record))))


COMMAND = Command(why)


async def _fetch(url: str, health: str) -> dict[str, Any]:
    from quarterdeck.kit import http, json

    try:
        async with http.Client() as client, await client.request("GET", url) as response:
            body = await response.read()
    except ValueError as error:
        text = f"invalid --health {health!r}: expected an address such as http://127.0.0.1:8081"
        raise CommandError(text, REFUSED) from error
    except http.HttpError as error:
        raise CommandError(
            f"cannot reach {health}: {error}; start quarterdeck up or run, or set --health", FAILED
        ) from error
    try:
        document: dict[str, Any] = json.decode(body)
    except json.JsonError as error:
        raise CommandError(f"{url} did not answer with JSON; check --health", FAILED) from error
    if "controllers" not in document:
        raise CommandError(str(document.get("error") or f"{url} has no controllers"), FAILED)
    return document


def format_record(record: dict[str, Any]) -> list[str]:
    """One reconcile, a line for each cause, read and write."""
    took = f"{record['durationSeconds'] * 1000:.1f} ms"
    waited = f"{record['queueWaitSeconds'] * 1000:.1f} ms"
    lines = [f"  {record['startedAt']}  {record['outcome']} in {took}, queued for {waited}"]
    if record["detail"]:
        lines.append(f"    {record['detail']}")
    lines += [f"    cause    {_format_cause(cause)}" for cause in record["causes"]]
    lines += [
        f"    read     {read['kind']} {read['object']} at {read['version']} ({read['source']})"
        for read in record["reads"]
    ]
    lines += [
        f"    wrote    {write['verb']} {write['kind']} {write['object']} -> {write['version']}"
        for write in record["writes"]
        if write["verb"] != "skipped"
    ]
    if record["nextSeconds"] is not None:
        lines.append(f"    next in  {record['nextSeconds']} s")
    return lines


def _format_cause(cause: dict[str, Any]) -> str:
    if "kind" not in cause:
        return str(cause["event"])
    if "object" not in cause:  # the initial list names no object
        return f"{cause['event']} of {cause['kind']}"
    versions = [cause["oldVersion"], cause["newVersion"]]
    change = " -> ".join(str(each) for each in versions if each is not None)
    return (
        f"{cause['kind']} {cause['object']} was {cause['event']} "
        f"({change}, mapped by {cause['mappedBy']})"
    )
