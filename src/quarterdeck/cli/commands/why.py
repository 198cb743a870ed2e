"""`quarterdeck why`: why an object was reconciled, and what came of it."""

from typing import Annotated, Any

import typer

from quarterdeck.cli.command import CommandError, Debug, call, split_target
from quarterdeck.cli.loop import REFUSED, run_loop
from quarterdeck.cli.output import Form, Output, pretty
from quarterdeck.kit import http, json

_DEFAULT = "http://127.0.0.1:8081"


def run(arguments: list[str]) -> int:
    """Explain reconciles."""
    return call("why", why, arguments)


def why(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="application, pipeline, …")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The object's name.")] = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="Its namespace.")
    ] = "default",
    health: Annotated[
        str,
        typer.Option(
            "--health", metavar="URL", envvar="QUARTERDECK_HEALTH_URL", help="The health page."
        ),
    ] = _DEFAULT,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Newest so many.")] = 5,
    output: Output = Form.TABLE,
    debug: Debug = False,
) -> None:
    """Tell the last reconciles of an object: cause, reads, writes, outcome."""
    kind, name = split_target(kind, name)
    if not name:
        raise CommandError("name the object: quarterdeck why KIND NAME", REFUSED)
    url = f"{health.rstrip('/')}/explain/{kind}/{namespace}/{name}"
    document = run_loop(_ask(url, health), fast=False)
    if output is Form.JSON:
        print(pretty(document))
        return
    for controller in document["controllers"]:
        print(f"controller {controller['controller']}")
        records = controller["reconciles"][:limit]
        if not records:
            print(f"  nothing is known of {namespace}/{name}: it was not reconciled lately")
        for record in records:
            print("\n".join(tell(record)))


async def _ask(url: str, health: str) -> dict[str, Any]:
    try:
        async with http.Client() as client, await client.request("GET", url) as response:
            body = await response.read()
    except http.HttpError as error:
        raise CommandError(
            f"nobody answers at {health} ({error}): start quarterdeck up or run, or give --health"
        ) from error
    try:
        document: dict[str, Any] = json.decode(body)
    except json.JsonError as error:
        raise CommandError(f"{url} is not an explain page: give --health") from error
    if "controllers" not in document:
        raise CommandError(str(document.get("error") or "the page explains nothing"))
    return document


def tell(record: dict[str, Any]) -> list[str]:
    """One reconcile as a short story."""
    took = f"{record['durationSeconds'] * 1000:.1f} ms"
    waited = f"{record['queueWaitSeconds'] * 1000:.1f} ms"
    lines = [f"  {record['startedAt']}  {record['outcome']} in {took}, after waiting {waited}"]
    if record["detail"]:
        lines.append(f"    {record['detail']}")
    lines += [f"    because  {_cause(cause)}" for cause in record["causes"]]
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
        lines.append(f"    again in {record['nextSeconds']} s")
    return lines


def _cause(cause: dict[str, Any]) -> str:
    if "kind" not in cause:
        return str(cause["event"])
    return (
        f"{cause['kind']} {cause['object']} was {cause['event']} "
        f"({cause['oldVersion']} -> {cause['newVersion']}, found by {cause['mappedBy']})"
    )
