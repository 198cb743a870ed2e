"""ConfigMaps and Secrets that pipelines and connections name: watched by their metadata only.

Their values are read when they are used and never cached, so that no Secret stays in memory. A
change enqueues the objects that name them.
"""

from collections.abc import Mapping

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.core.references import ConfigMapKeySelector, SecretKeySelector
from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.client.interfaces import Form
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import Contents
from quarterdeck.runtime import CacheScope, Context, Stalled
from quarterdeck.wire.status import NotFound

HEADS_ONLY = CacheScope(form=Form.METADATA)


class ConfigMapHead(Object, frozen=True, kw_only=True):
    """The metadata of a ConfigMap."""

    KIND = ConfigMap.KIND

    def __post_init__(self) -> None:
        """Skip the check of the kind: metadata alone has the kind PartialObjectMetadata."""


class SecretHead(Object, frozen=True, kw_only=True):
    """The metadata of a Secret."""

    KIND = Secret.KIND

    def __post_init__(self) -> None:
        """Skip the check of the kind: metadata alone has the kind PartialObjectMetadata."""


def index_reference(pipeline: Pipeline) -> str:
    """Return the index value of what `contentsFrom` names; empty without `contentsFrom`."""
    source, namespace = pipeline.spec.contents_from, pipeline.metadata.namespace
    if source is None:
        return ""
    if source.config_map_key_ref is not None:
        return f"ConfigMap/{namespace}/{source.config_map_key_ref.name}"
    return f"Secret/{namespace}/{source.secret_key_ref.name}" if source.secret_key_ref else ""


async def read_contents(pipeline: Pipeline, ctx: Context[Pipeline]) -> Contents:
    """The configuration text, from the spec, a ConfigMap or a Secret.

    Raises:
        Stalled: if the object or its key does not exist; its creation enqueues the pipeline.
    """
    source = pipeline.spec.contents_from
    if source is None:
        return Contents(pipeline.spec.contents)
    namespace = pipeline.metadata.namespace
    if source.config_map_key_ref is not None:
        name, key = source.config_map_key_ref.name, source.config_map_key_ref.key
        values = await _read_config_map(Key(namespace, name), ctx)
        if values is None or key not in values:
            raise _build_missing(
                "ConfigMap", source.config_map_key_ref, is_there=values is not None
            )
        return Contents(values[key], origin=f"ConfigMap {name}, key {key}")
    assert source.secret_key_ref is not None  # the schema requires exactly one of the two
    name, key = source.secret_key_ref.name, source.secret_key_ref.key
    secrets = await read_secret_values(Key(namespace, name), ctx)
    if secrets is None or key not in secrets:
        raise _build_missing("Secret", source.secret_key_ref, is_there=secrets is not None)
    return Contents(
        _decode_text(secrets[key], "Secret", name, key), is_secret=True, origin=f"Secret {name}"
    )


async def read_secret_values(key: Key, ctx: Context[Pipeline]) -> dict[str, bytes] | None:
    """The decoded values of a Secret; None if there is none."""
    try:
        secret = await ctx.api.get_live(Secret, key)
    except NotFound:
        return None
    return {name: secret.read(name) or b"" for name in (*secret.data, *secret.string_data)}


async def _read_config_map(key: Key, ctx: Context[Pipeline]) -> Mapping[str, str] | None:
    try:
        return (await ctx.api.get_live(ConfigMap, key)).data
    except NotFound:
        return None


def _build_missing(
    kind: str, reference: ConfigMapKeySelector | SecretKeySelector, *, is_there: bool
) -> Stalled:
    name, key = reference.name, reference.key
    what = f"{kind} {name!r} has no key {key!r}" if is_there else f"{kind} {name!r} not found"
    if reference.optional:
        what += "; optional has no effect: a pipeline must have contents; the last ones remain"
    return Stalled(Reason.CONTENTS_UNAVAILABLE, f"spec.contentsFrom: {what}")


def _decode_text(data: bytes, kind: str, name: str, key: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        message = f"spec.contentsFrom: key {key!r} of {kind} {name!r} is not UTF-8 text"
        raise Stalled(Reason.CONTENTS_UNAVAILABLE, message) from None
