"""Runs the kopf operator and takes one object through its life."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from kubernetes import client, config
from kubernetes.client.rest import ApiException
from widgets import DEFINITION, GROUP, PLURAL, VERSION, widget

config.load_kube_config()
client.ApiextensionsV1Api().create_custom_resource_definition(DEFINITION)
custom = client.CustomObjectsApi()
place = (GROUP, VERSION, "default", PLURAL)
log = Path(tempfile.mkstemp()[1])
operator = Path(__file__).with_name("kopf_operator.py")


pause = threading.Event().wait


def wait_for(line: str) -> None:
    deadline = time.monotonic() + 240
    while line not in log.read_text().splitlines():
        if time.monotonic() > deadline or process.poll() is not None:
            raise SystemExit(f"never saw {line!r} in {log.read_text()!r}")
        pause(0.05)


process = subprocess.Popen(
    [sys.executable, "-m", "kopf", "run", "--all-namespaces", "--standalone", str(operator)],
    env=os.environ | {"KOPF_LOG": str(log)},
)
try:
    custom.create_namespaced_custom_object(*place, widget("a", 1))
    wait_for("created a 1")
    wait_for("ticked a")
    deadline = time.monotonic() + 240
    while "created" not in custom.get_namespaced_custom_object(*place, "a").get("status", {}):
        assert time.monotonic() < deadline, "the handler's result never reached the status"
        pause(0.05)
    found = custom.get_namespaced_custom_object(*place, "a")
    assert found["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"], found
    custom.patch_namespaced_custom_object(*place, "a", {"spec": {"size": 2}})
    wait_for("updated a 2")
    custom.delete_namespaced_custom_object(*place, "a")
    wait_for("deleted a")
    deadline = time.monotonic() + 240
    while True:
        try:
            custom.get_namespaced_custom_object(*place, "a")
        except ApiException as error:
            assert error.status == 404, error
            break
        assert time.monotonic() < deadline, "the object never went"
        pause(0.05)
    deadline = time.monotonic() + 240
    while not client.CoreV1Api().list_namespaced_event("default").items:
        assert time.monotonic() < deadline, "no event arrived"
        pause(0.05)
finally:
    process.terminate()
    process.wait(240)
print("ok")
