"""`kubernetes_asyncio`: create, list, patch, watch with events over 64 KiB."""

import asyncio

from kubernetes_asyncio import client, config, watch


async def main() -> None:
    await config.load_kube_config()
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        body = {"metadata": {"name": "c"}, "data": {"a": "1"}}
        await core.create_namespaced_config_map("default", body)
        listed = await core.list_namespaced_config_map("default")
        names = [each.metadata.name for each in listed.items]
        assert names == ["c", "kube-root-ca.crt"], names
        version = listed.metadata.resource_version

        async def write() -> None:
            large = {"metadata": {"name": "large"}, "data": {"a": "x" * 200_000}}
            await core.create_namespaced_config_map("default", large)
            await core.patch_namespaced_config_map("c", "default", {"data": {"b": "2"}})
            await core.delete_namespaced_config_map("c", "default")

        seen = []
        async with asyncio.TaskGroup() as group:
            group.create_task(write())
            stream = watch.Watch().stream(
                core.list_namespaced_config_map,
                "default",
                resource_version=version,
                timeout_seconds=20,
            )
            async for event in stream:
                seen.append((event["type"], event["object"].metadata.name))
                if event["type"] == "DELETED":
                    break
        expected = [("ADDED", "large"), ("MODIFIED", "c"), ("DELETED", "c")]
        assert seen == expected, seen


asyncio.run(main())
print("ok")
