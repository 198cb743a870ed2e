"""The official client's informer with a pool of threads: no queue, no retries."""

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import urllib3
from kubernetes import client, config
from kubernetes.informer import SharedInformer

from bench.peers.kind import GROUP, PLURAL, VERSION
from bench.peers.operators import life


def main(kubeconfig: str, settings: Mapping[str, str]) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    urllib3.disable_warnings()  # one a request, about certificates that are not verified
    configuration = client.Configuration()
    config.load_kube_config(kubeconfig, client_configuration=configuration)
    configuration.connection_pool_maxsize = life.WORKERS + 2  # its list and its watch
    api = client.CustomObjectsApi(client.ApiClient(configuration))
    pool = ThreadPoolExecutor(life.WORKERS)

    def listed(**options: Any) -> Any:
        """:return: object"""
        answer = api.list_cluster_custom_object(GROUP, VERSION, PLURAL, **options)
        if options.get("watch"):
            return answer
        version = answer["metadata"]["resourceVersion"]
        return SimpleNamespace(
            items=answer["items"], metadata=SimpleNamespace(resource_version=version)
        )

    def write(name: str, namespace: str, size: int) -> None:
        body = {"status": {"seen": size}}
        api.patch_namespaced_custom_object_status(GROUP, VERSION, namespace, PLURAL, name, body)

    def changed(item: Any) -> None:
        metadata, size = item["metadata"], item["spec"]["size"]
        if item.get("status", {}).get("seen") != size:
            pool.submit(write, metadata["name"], metadata["namespace"], size)

    informer = SharedInformer(listed)
    for event in ("ADDED", "MODIFIED"):
        informer.add_event_handler(event, changed)
    life.ready()
    informer.start()
    threading.Event().wait()
