"""A kopf operator with create, update and delete handlers and a timer."""

import os
from pathlib import Path

import kopf
from widgets import GROUP, PLURAL, VERSION

LOG = Path(os.environ["KOPF_LOG"])


def note(text: str) -> None:
    with LOG.open("a") as file:
        file.write(f"{text}\n")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: object) -> None:
    settings.posting.enabled = True


@kopf.on.create(GROUP, VERSION, PLURAL)
def created(spec: kopf.Spec, name: str, body: kopf.Body, **_: object) -> dict:
    kopf.info(body, reason="Made", message="it was made")
    note(f"created {name} {spec['size']}")
    return {"made": True}


@kopf.on.update(GROUP, VERSION, PLURAL)
def updated(spec: kopf.Spec, name: str, **_: object) -> None:
    note(f"updated {name} {spec['size']}")


@kopf.on.delete(GROUP, VERSION, PLURAL)
def deleted(name: str, **_: object) -> None:
    note(f"deleted {name}")


@kopf.timer(GROUP, VERSION, PLURAL, interval=0.3)
def ticked(name: str, **_: object) -> None:
    note(f"ticked {name}")
