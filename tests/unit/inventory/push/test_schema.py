"""Numbers that existing collectors rely on never change."""

import pytest

from quarterdeck.inventory.push.descriptors import MESSAGES
from quarterdeck.inventory.push.schema import render_proto

ORIGINAL = {
    "ConnectRequest": "1 metrics, 2 health, 3 register",
    "ConnectResponse": "1 config, 2 ack",
    "RegisterRequest": "1 cluster_name, 2 token, 3 version",
    "MetricsBatch": "1 cluster_name, 2 batch_id, 3 collected_at, 4 cluster_metrics, "
    "5 node_metrics, 6 custom_resources, 7 operators, 8 cluster_operators, 9 cluster_info",
    "ClusterMetrics": "1 nodes, 2 nodes_ready, 4 namespaces, 5 namespace_list, 6 pods, "
    "7 pods_running, 10 cpu_capacity, 14 memory_capacity, 22 deployments",
    "NodeMetrics": "1 name, 2 status, 3 roles, 10 cpu_capacity, 11 memory_capacity, "
    "12 storage_capacity, 13 pods_capacity, 14 cpu_allocatable, 15 memory_allocatable, "
    "16 storage_allocatable, 17 pods_allocatable, 18 cpu_requested, 19 memory_requested, "
    "20 cpu_usage_percent, 21 memory_usage_percent, 22 pods_running, 23 pods_pending, "
    "24 pods_failed, 25 pods_succeeded, 26 pods_total, 30 kernel_version, 31 os_image, "
    "32 container_runtime, 33 kubelet_version, 34 architecture, 35 labels, 36 internal_ip, "
    "37 hostname",
    "CustomResourceBatch": "1 source_id, 2 resource_count, 3 truncated, 4 duration_ms, "
    "5 resources, 6 aggregation_values",
    "CustomCollectedResource": "1 id, 2 namespace, 3 name, 4 labels, 5 values_json",
    "OperatorInfo": "1 name, 2 display_name, 3 version, 4 status, 5 installed_namespace, "
    "6 install_mode, 7 provider, 8 is_cluster_wide, 9 install_modes, "
    "10 available_in_namespaces, 11 available_count",
    "ClusterOperatorInfo": "1 name, 2 version, 3 available, 4 progressing, 5 degraded, "
    "6 upgradeable, 7 message, 8 reason, 9 conditions, 10 versions, 11 related_objects",
    "ClusterInfo": "1 api_url, 2 version, 3 platform, 4 console_url, 5 channel, 6 cluster_id",
    "HealthReport": "1 cluster_name, 2 timestamp, 3 uptime_seconds, 4 buffered_batches, "
    "5 last_collection_duration_ms",
    "ConfigUpdate": "1 metric_sources_json, 2 default_interval_seconds",
    "Ack": "1 batch_id, 2 success, 3 error",
}


@pytest.mark.parametrize("name", sorted(ORIGINAL))
def test_fields_keep_their_numbers(name: str) -> None:
    found = [f"{field.number} {field.name}" for field in MESSAGES[name].fields]
    assert set(ORIGINAL[name].split(", ")) <= set(found)
    assert len({field.number for field in MESSAGES[name].fields}) == len(found)


def test_the_schema_names_the_service_and_all_messages() -> None:
    text = render_proto()
    assert "rpc Connect(stream ConnectRequest) returns (stream ConnectResponse);" in text
    assert all(f"message {name} {{" in text for name in MESSAGES)
    assert "map<string, double> aggregation_values = 6;" in text
