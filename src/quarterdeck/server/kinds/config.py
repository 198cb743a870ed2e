"""ConfigMaps, Secrets and ServiceAccounts."""

import base64
from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, forbidden, invalid, required, too_long
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.tls_secret import TLS, find_key_pair_warnings
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object
from quarterdeck.wire.json_errors import find_syntax_error

_SIZE_LIMIT = 1024 * 1024
_IMMUTABLE_MESSAGE = "field is immutable when `immutable` is set"


# config maps -------------------------------------------------------------------------------------


def _validate_config_map(value: Object, context: Context) -> Iterator[FieldError]:
    data, binary = get_mapping(value, "data"), get_mapping(value, "binaryData")
    size = 0
    for key in sorted(data):
        for problem in validators.validate_config_key(key):
            yield invalid(f"data[{key}]", key, problem)
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len(data[key].encode())
    for key in sorted(binary):
        for problem in validators.validate_config_key(key):
            yield invalid(f"binaryData[{key}]", key, problem)
        size += len(binary[key]) * 3 // 4
    if size > _SIZE_LIMIT:
        yield too_long("[]", "", _SIZE_LIMIT)


def _validate_frozen(value: Object, old: Object, members: Sequence[str]) -> Iterator[FieldError]:
    if not old.get("immutable"):
        return
    if not value.get("immutable"):
        yield forbidden("immutable", _IMMUTABLE_MESSAGE)
    for member in members:
        if get_mapping(value, member) != get_mapping(old, member):
            yield forbidden(member, _IMMUTABLE_MESSAGE)


def _build_config_map_cells(value: Object, now: datetime) -> Sequence[object]:
    count = len(get_mapping(value, "data")) + len(get_mapping(value, "binaryData"))
    return (value["metadata"].get("name", ""), count, format_creation_age(value, now))


CONFIG_MAP = Rules(
    validate=_validate_config_map,
    validate_change=lambda value, old, context: _validate_frozen(
        value, old, ("data", "binaryData")
    ),
    columns=(NAME, build_column("Data"), AGE),
    cells=_build_config_map_cells,
)


# secrets -----------------------------------------------------------------------------------------

_REQUIRED_KEYS: dict[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    TLS: ("tls.crt", "tls.key"),
}
_DOCKER_TYPES = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")
_ACCOUNT = "kubernetes.io/service-account.name"


def _default_secret(value: Object) -> None:
    """Set the default type, and merge the write-only `stringData` into `data`."""
    if not value.get("type"):
        value["type"] = "Opaque"
    texts = value.pop("stringData", None)
    if texts:
        data = dict(value.get("data") or {})
        data |= {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        value["data"] = data


def _validate_secret(value: Object, context: Context) -> Iterator[FieldError]:
    data, kind = get_mapping(value, "data"), value.get("type") or ""
    size = 0
    for key in sorted(data):
        for problem in validators.validate_config_key(key):
            yield invalid(f"data[{key}]", key, problem)
        size += len(data[key] or "") * 3 // 4
    if size > _SIZE_LIMIT:
        yield too_long("data", "", _SIZE_LIMIT)
    for key in _REQUIRED_KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
        elif kind in _DOCKER_TYPES:
            yield from _validate_docker_config(data[key] or "", f"data[{key}]")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        yield required("data[username]")
        yield required("data[password]")
    if kind == "kubernetes.io/service-account-token":
        annotations = get_mapping(value, "metadata", "annotations")
        if not annotations.get(_ACCOUNT):
            yield required(f"metadata.annotations[{_ACCOUNT}]")


def _validate_docker_config(data: str, path: str) -> Iterator[FieldError]:
    """Check that registry credentials are JSON; the error does not contain them."""
    text = base64.b64decode(data).decode("utf-8", "replace")
    if problem := find_syntax_error(text):
        yield invalid(path, "<secret contents redacted>", problem)


def _validate_secret_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    yield from validators.validate_immutable("type", value.get("type"), old.get("type"))
    yield from _validate_frozen(value, old, ("data",))


def _build_secret_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        value.get("type") or "",
        len(get_mapping(value, "data")),
        format_creation_age(value, now),
    )


SECRET = Rules(
    default=_default_secret,
    validate=_validate_secret,
    validate_change=_validate_secret_update,
    warn=find_key_pair_warnings,
    selectable={"type": ""},
    columns=(NAME, build_column("Type"), build_column("Data"), AGE),
    cells=_build_secret_cells,
)


# service accounts --------------------------------------------------------------------------------


def _build_account_cells(value: Object, now: datetime) -> Sequence[object]:
    name, age = value["metadata"].get("name", ""), format_creation_age(value, now)
    if has_feature("NewerTablesAndWords"):
        return (name, age)
    return (name, len(get_items(value, "secrets")), age)


_ENFORCE_SECRETS = "kubernetes.io/enforce-mountable-secrets"


def _warn_of_annotations(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    now, before = (get_mapping(each or {}, "metadata", "annotations") for each in (value, old))
    if _ENFORCE_SECRETS not in now or (old is not None and _ENFORCE_SECRETS in before):
        return ()
    return (
        f"metadata.annotations[{_ENFORCE_SECRETS}]: deprecated in v1.32+; prefer separate"
        " namespaces to isolate access to mounted secrets",
    )


def _keep_secret_names(value: Object, *_: object) -> None:
    """Drop all members of references to secrets but the name."""
    if secrets := value.get("secrets"):
        value["secrets"] = [
            {name: each[name] for name in ("name",) if name in each} for each in secrets
        ]


SERVICE_ACCOUNT = Rules(
    prepare_create=_keep_secret_names,
    prepare_update=_keep_secret_names,
    warn=_warn_of_annotations,
    columns=(
        (NAME, AGE) if has_feature("NewerTablesAndWords") else (NAME, build_column("Secrets"), AGE)
    ),
    cells=_build_account_cells,
)
