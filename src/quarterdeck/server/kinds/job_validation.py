"""What the spec of a job must be like, also inside a CronJob."""

from collections.abc import Iterator

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    invalid,
    not_supported,
    quote,
    required,
    too_many,
)
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.templates import validate_pod_template
from quarterdeck.server.registry.resource import Object

_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    *("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"),
)
_MODES = ("NonIndexed", "Indexed")
_REPLACEMENT_POLICIES = ("Failed", "TerminatingOrFailed")
_INDEXED_ONLY = "requires indexed completion mode"
_MOST_PARALLEL = 100_000
_MOST_FAILED = 100_000
_MOST_RULES = 20


def validate_job_spec(spec: Object, path: str) -> Iterator[FieldError]:
    """Check the numbers, policies and the template of a job."""
    for member in _NUMBERS:
        yield from validators.validate_non_negative(f"{path}.{member}", spec.get(member))
    failed = spec.get("maxFailedIndexes")
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if (manager := spec.get("managedBy")) is not None:
        yield from _validate_manager(manager, f"{path}.managedBy")
    yield from _validate_mode(spec, path)
    yield from _validate_policies(spec, path)
    yield from validate_pod_template(get_mapping(spec, "template"), f"{path}.template")
    yield from _validate_restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _validate_manager(name: str, path: str) -> Iterator[FieldError]:
    domain, slash, rest = name.partition("/")
    if not name:
        yield required(path)
    elif not slash or not domain or not rest:
        yield invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        for problem in names.check_dns1123_subdomain(domain):
            yield invalid(path, domain, problem)


def _validate_mode(spec: Object, path: str) -> Iterator[FieldError]:
    mode, failed = spec.get("completionMode"), spec.get("maxFailedIndexes")
    completions, parallel = spec.get("completions"), spec.get("parallelism")
    yield from validators.validate_enum(f"{path}.completionMode", mode, _MODES)
    if mode == "Indexed":
        if completions is None:
            yield required(f"{path}.completions", "when completion mode is Indexed")
        if parallel is not None and parallel > _MOST_PARALLEL:
            text = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is Indexed"
            yield invalid(f"{path}.parallelism", parallel, text)
        if failed is not None and completions is not None and failed > completions:
            text = "must be less than or equal to completions"
            yield invalid(f"{path}.maxFailedIndexes", failed, text)
        if failed is not None and failed > _MOST_FAILED:
            text = f"must be less than or equal to {_MOST_FAILED}"
            yield invalid(f"{path}.maxFailedIndexes", failed, text)
    elif mode in (None, "NonIndexed"):
        for member in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(member) is not None:
                yield invalid(f"{path}.{member}", spec[member], _INDEXED_ONLY)


def _validate_policies(spec: Object, path: str) -> Iterator[FieldError]:
    success, failure = spec.get("successPolicy"), spec.get("podFailurePolicy")
    if success is not None and spec.get("completionMode") != "Indexed":
        yield invalid(f"{path}.successPolicy", _format_go_success_policy(success), _INDEXED_ONLY)
    elif success is not None:
        yield from _validate_success_rules(success, f"{path}.successPolicy.rules")
    policy = spec.get("podReplacementPolicy")
    choices = _REPLACEMENT_POLICIES if failure is None else _REPLACEMENT_POLICIES[:1]
    yield from validators.validate_enum(f"{path}.podReplacementPolicy", policy, choices)


def _validate_success_rules(policy: Object, path: str) -> Iterator[FieldError]:
    rules = get_items(policy, "rules")
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        yield required(path, text)
    if len(rules) > _MOST_RULES:
        yield too_many(path, len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        count = rule.get("succeededCount")
        if count is None and rule.get("succeededIndexes") is None:
            text = "at least one of succeededCount or succeededIndexes must be specified"
            yield required(f"{path}[{index}]", text)
        yield from validators.validate_non_negative(f"{path}[{index}].succeededCount", count)


def _format_go_success_policy(policy: Object) -> Bare:
    """Format a policy as Go prints it: what a pointer points to is not shown."""
    kind = "batch.SuccessPolicyRule"
    if not policy.get("rules"):
        return Bare(f"batch.SuccessPolicy{{Rules:[]{kind}(nil)}}")
    members = (
        ("SucceededIndexes", "*string", "succeededIndexes"),
        ("SucceededCount", "*int32", "succeededCount"),
    )
    rules = (
        ", ".join(
            f"{go}:({type_})({'nil' if rule.get(name) is None else validators.GO_POINTER})"
            for go, type_, name in members
        )
        for rule in get_items(policy, "rules")
    )
    shown = ", ".join(f"{kind}{{{rule}}}" for rule in rules)
    return Bare(f"batch.SuccessPolicy{{Rules:[]{kind}{{{shown}}}}}")


def _validate_restart_policy(spec: Object, path: str) -> Iterator[FieldError]:
    policy = get_field(spec, "template", "spec", "restartPolicy") or ""
    choices = ("OnFailure", "Never")
    if policy in ("", "Always"):
        yield required(path, f"valid values: {', '.join(map(quote, choices))}")
    elif policy not in choices:
        yield not_supported(path, policy, choices)
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid(path, policy, text)
