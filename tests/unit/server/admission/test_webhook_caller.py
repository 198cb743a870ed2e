"""The connections to webhooks: bounded, and closed in the end."""

from webhook_server import webhook_server

from quarterdeck.kit import http
from quarterdeck.server.admission.webhooks import caller as module
from quarterdeck.server.admission.webhooks.caller import WebhookCaller
from quarterdeck.server.admission.webhooks.registration import parse_client


async def test_clients_of_many_authorities_do_not_pile_up() -> None:
    async def answer(request: http.Request) -> http.Response:
        await request.read(1024)
        return http.Response(200, [("Content-Type", "application/json")], b"{}")

    caller = WebhookCaller()
    async with webhook_server(answer) as hooks:
        config = {"url": f"{hooks.url}/", "caBundle": hooks.ca_bundle}
        for number in range(module._KEPT_CLIENTS + 5):
            service = {"namespace": "n", "name": f"s{number}", "path": "/"}
            caller.services[f"n/s{number}"] = hooks.url.removeprefix("https://")
            target = parse_client({"service": service, "caBundle": config["caBundle"]})
            try:
                await caller.call(target, {}, timeout_s=10)
            except module.CallFailed as error:
                assert "not valid for this name" in str(error)
        assert len(caller._clients) <= module._KEPT_CLIENTS
        assert not caller._retired
        await caller.aclose()
        assert not caller._clients
