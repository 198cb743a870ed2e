"""`kr8s`: objects, lists, patches, labels, watch."""

import os

import kr8s
from kr8s.objects import APIObject, ConfigMap, Namespace, new_class
from widgets import DEFINITION, GROUP, KIND, PLURAL, VERSION, widget

api = kr8s.api(kubeconfig=os.environ["KUBECONFIG"])
assert api.version()["major"] == "1"
space = Namespace({"metadata": {"name": "shop"}}, api=api)
space.create()
assert space.exists()
config = ConfigMap({"metadata": {"name": "c", "namespace": "shop"}, "data": {"a": "1"}}, api=api)
config.create()
config.patch({"data": {"b": "2"}})
config.refresh()
assert config.raw["data"] == {"a": "1", "b": "2"}, config.raw
config.label({"tier": "web"})
found = list(api.get("configmaps", namespace="shop", label_selector={"tier": "web"}))
assert [each.name for each in found] == ["c"], found
for number in range(5):
    ConfigMap({"metadata": {"name": f"n{number}", "namespace": "shop"}}, api=api).create()
assert len(list(api.get("configmaps", namespace="shop"))) == 7
new_class("CustomResourceDefinition", "apiextensions.k8s.io/v1", namespaced=False)(
    DEFINITION, api=api
).create()
Widget: type[APIObject] = new_class(KIND, f"{GROUP}/{VERSION}", plural=PLURAL)
one = Widget(widget("a", 4) | {"metadata": {"name": "a", "namespace": "shop"}}, api=api)
one.create()
assert one.raw["spec"]["color"] == "red", one.raw
for kind, _item in api.watch("configmaps", namespace="shop"):
    assert kind == "ADDED"
    break
config.delete()
config.wait("delete", timeout=240)
assert not config.exists()
print("ok")
