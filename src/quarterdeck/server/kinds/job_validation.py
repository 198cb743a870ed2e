"""Validation of the spec of jobs, also inside a CronJob."""

from collections.abc import Iterator

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    invalid,
    not_supported,
    prints_json,
    quote,
    required,
    too_long,
    too_many,
)
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.job_failure_validation import validate_failure_policy
from quarterdeck.server.kinds.job_indexes import InvalidIndexesError, count_indexes
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
_MANY_COMPLETIONS = 100_000
_LIMIT_OF_MANY = 10_000
_LONGEST_MANAGER = 63
_LONGEST_INDEXES = 64 * 1024


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
    if len(name.encode()) > _LONGEST_MANAGER:
        yield too_long(path, name, _LONGEST_MANAGER)


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
        if (completions or 0) > _MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
            yield from _validate_many_completions(spec, path)
    elif mode in (None, "NonIndexed"):
        for member in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(member) is not None:
                yield invalid(f"{path}.{member}", spec[member], _INDEXED_ONLY)


def _validate_many_completions(spec: Object, path: str) -> Iterator[FieldError]:
    if spec.get("maxFailedIndexes") is None:
        text = f"must be specified when completions is above {_MANY_COMPLETIONS}"
        yield required(f"{path}.maxFailedIndexes", text)
    for member in ("parallelism", "maxFailedIndexes"):
        number = spec.get(member)
        if number is not None and number > _LIMIT_OF_MANY:
            text = (
                f"must be less than or equal to {_LIMIT_OF_MANY} when completions are above"
                f" {_MANY_COMPLETIONS} and used with backoff limit per index"
            )
            yield invalid(f"{path}.{member}", number, text)


def _validate_policies(spec: Object, path: str) -> Iterator[FieldError]:
    success, failure = spec.get("successPolicy"), spec.get("podFailurePolicy")
    if failure is not None:
        yield from validate_failure_policy(spec, f"{path}.podFailurePolicy.rules")
    if success is not None and spec.get("completionMode") != "Indexed":
        yield invalid(f"{path}.successPolicy", _format_go_success_policy(success), _INDEXED_ONLY)
    elif success is not None:
        completions = spec.get("completions") or 0
        yield from _validate_success_rules(success, f"{path}.successPolicy.rules", completions)
    policy = spec.get("podReplacementPolicy")
    choices = _REPLACEMENT_POLICIES if failure is None else _REPLACEMENT_POLICIES[:1]
    yield from validators.validate_enum(f"{path}.podReplacementPolicy", policy, choices)


def _validate_success_rules(policy: Object, path: str, completions: int) -> Iterator[FieldError]:
    rules = get_items(policy, "rules")
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        yield required(path, text)
    if len(rules) > _MOST_RULES:
        yield too_many(path, len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _validate_success_rule(rule, f"{path}[{index}]", completions)


def _validate_success_rule(rule: Object, path: str, completions: int) -> Iterator[FieldError]:
    count, indexes, total = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        yield required(path, text)
    if indexes is not None:
        place = f"{path}.succeededIndexes"
        if len(indexes.encode()) > _LONGEST_INDEXES:
            yield too_long(place, indexes, _LONGEST_INDEXES)
        try:
            total = count_indexes(indexes, completions)
        except InvalidIndexesError as error:
            yield invalid(place, indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    place, limits = f"{path}.succeededCount", [(completions, "specified completions")]
    if indexes is not None:
        limits.append((total, "indexes in the specified succeededIndexes field"))
    yield from validators.validate_non_negative(place, count)
    for limit, words in limits:
        if count > limit:
            text = f"must be less than or equal to {limit} (the number of {words})"
            yield invalid(place, count, text)


def _format_go_success_policy(policy: Object) -> Bare:
    if prints_json():
        return format_go_struct("batch/v1.SuccessPolicy", policy)
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
