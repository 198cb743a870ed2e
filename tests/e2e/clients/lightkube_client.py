"""`lightkube`: typed and generic resources, apply, watch, wait."""

from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource, load_in_cluster_generic_resources
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.core_v1 import ConfigMap, Namespace
from widgets import DEFINITION, GROUP, KIND, PLURAL, VERSION, widget

client = Client(field_manager="e2e")
client.create(Namespace(metadata=ObjectMeta(name="shop")))
made = client.create(ConfigMap(metadata=ObjectMeta(name="c", namespace="shop"), data={"a": "1"}))
assert made.metadata.managedFields[0].manager == "e2e", made
client.patch(ConfigMap, "c", {"data": {"b": "2"}}, namespace="shop")
assert client.get(ConfigMap, "c", namespace="shop").data == {"a": "1", "b": "2"}
applied = ConfigMap(
    apiVersion="v1",
    kind="ConfigMap",
    metadata=ObjectMeta(name="applied", namespace="shop"),
    data={"k": "v"},
)
assert client.apply(applied).data == {"k": "v"}
names = {each.metadata.name for each in client.list(ConfigMap, namespace="shop")}
assert names == {"c", "applied", "kube-root-ca.crt"}, names
client.create(CustomResourceDefinition.from_dict(DEFINITION))
load_in_cluster_generic_resources(client)
Widget = create_namespaced_resource(GROUP, VERSION, KIND, PLURAL)
client.create(Widget(widget("a", 2)), namespace="shop")
try:
    client.create(Widget(widget("bad", 0)), namespace="shop")
    raise SystemExit("an invalid object was accepted")
except ApiError as error:
    assert error.status.code == 422, error
for kind, item in client.watch(Widget, namespace="shop", server_timeout=20):
    assert (kind, item.metadata.name) == ("ADDED", "a"), (kind, item)
    break
client.delete(ConfigMap, "c", namespace="shop")
try:
    client.get(ConfigMap, "c", namespace="shop")
    raise SystemExit("the object is still there")
except ApiError as error:
    assert error.status.code == 404, error
print("ok")
