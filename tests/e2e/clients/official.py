"""The official `kubernetes` client: typed, custom objects, watch, dynamic and informer."""

import threading

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException
from widgets import DEFINITION, GROUP, KIND, PLURAL, VERSION, widget

config.load_kube_config()
core = client.CoreV1Api()
custom = client.CustomObjectsApi()

# typed
core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name="shop")))
made = core.create_namespaced_config_map("shop", {"metadata": {"name": "c"}, "data": {"a": "1"}})
assert made.metadata.uid and made.data == {"a": "1"}, made
patched = core.patch_namespaced_config_map("c", "shop", {"data": {"b": "2"}})
assert patched.data == {"a": "1", "b": "2"}, patched
patched = core.patch_namespaced_config_map(
    "c", "shop", [{"op": "remove", "path": "/data/a"}], _content_type="application/json-patch+json"
)
assert patched.data == {"b": "2"}, patched
stale = made
stale.data = {"z": "9"}
try:
    core.replace_namespaced_config_map("c", "shop", stale)
    raise SystemExit("a stale update was accepted")
except ApiException as error:
    assert error.status == 409, error
listed = [each.metadata.name for each in core.list_namespaced_config_map("shop").items]
assert listed == ["c", "kube-root-ca.crt"], listed
assert len(core.list_namespace(limit=2).items) == 2

# custom resources
client.ApiextensionsV1Api().create_custom_resource_definition(DEFINITION)
place = (GROUP, VERSION, "shop", PLURAL)
custom.create_namespaced_custom_object(*place, widget("a", 3))
found = custom.get_namespaced_custom_object(*place, "a")
assert found["spec"] == {"size": 3, "color": "red"}, found
try:
    custom.create_namespaced_custom_object(*place, widget("bad", 0))
    raise SystemExit("an invalid object was accepted")
except ApiException as error:
    assert error.status == 422 and "spec.size" in error.body, error
custom.patch_namespaced_custom_object_status(*place, "a", {"status": {"phase": "Up"}})
assert custom.get_namespaced_custom_object(*place, "a")["status"] == {"phase": "Up"}

# watch: the list's version, then events of another thread
version = core.list_namespaced_config_map("shop").metadata.resource_version


def write() -> None:
    core.create_namespaced_config_map("shop", {"metadata": {"name": "w"}})
    core.delete_namespaced_config_map("w", "shop")


writer = threading.Thread(target=write)
writer.start()
seen = []
stream = watch.Watch()
for event in stream.stream(
    core.list_namespaced_config_map, "shop", resource_version=version, timeout_seconds=20
):
    seen.append((event["type"], event["object"].metadata.name))
    if event["type"] == "DELETED":
        stream.stop()
writer.join()
assert seen == [("ADDED", "w"), ("DELETED", "w")], seen

# dynamic
dyn = dynamic.DynamicClient(client.ApiClient())
api = dyn.resources.get(api_version=f"{GROUP}/{VERSION}", kind=KIND)
dyn.server_side_apply(
    api, body=widget("applied", 2), name="applied", namespace="shop", field_manager="e2e"
)
assert api.get(name="applied", namespace="shop").spec.size == 2
assert {each.metadata.name for each in api.get(namespace="shop").items} == {"a", "applied"}
api.delete(name="applied", namespace="shop")

# informer
from kubernetes.informer import ADDED, SharedInformer  # noqa: E402

arrived = threading.Event()
informer = SharedInformer(list_func=core.list_namespaced_config_map, namespace="shop")
informer.add_event_handler(ADDED, lambda each: each.metadata.name == "late" and arrived.set())
informer.start()
core.create_namespaced_config_map("shop", {"metadata": {"name": "late"}})
assert arrived.wait(240), "the informer saw nothing"
stopper = threading.Thread(target=informer.stop)  # waits for the stream's next event
stopper.start()
core.create_namespaced_config_map("shop", {"metadata": {"name": "last"}})
stopper.join(240)
assert not stopper.is_alive(), "the informer did not stop"
print("ok")
