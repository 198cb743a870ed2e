"""Validation of the capacity of a device, and of the policy for requests of it."""

from typing import Any

from quarterdeck.kit.quantity import Quantity
from quarterdeck.meta.field import forbidden, invalid, required
from quarterdeck.server.kinds.device_fields import FieldErrors
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.resource import Object


def validate_capacity(device: Object, capacity: Object, path: str) -> FieldErrors:
    """Check the request policy of a capacity, which only a shared device may have."""
    policy, path = capacity.get("requestPolicy"), f"{path}.requestPolicy"
    if policy is None:
        return
    if not device.get("allowMultipleAllocations"):
        yield forbidden(path, "allowMultipleAllocations must be true")
    elif policy.get("validValues") and policy.get("validRange") is not None:
        text = (
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" at'
            " the same time"
        )
        yield forbidden(path, text)
    else:
        for member in ("validValues", "validRange"):
            if policy.get(member) and policy.get("default") is None:
                yield required(f"{path}.default", f"required when {member} is defined")
        yield from _validate_policy(policy, capacity.get("value"), path)


def _validate_policy(policy: Object, value: Any, path: str) -> FieldErrors:
    """Check the default amount against the valid values or the valid range."""
    if policy.get("default") is None:
        return
    default, most = Quantity.parse(str(policy["default"])), Quantity.parse(str(value or 0))
    if choices := [Quantity.parse(str(each)) for each in get_items(policy, "validValues")]:
        place = f"{path}.validValues"
        for index, each in enumerate(choices):
            if index and choices[index - 1] > each:
                text = "values must be sorted in ascending order"
                yield invalid(f"{place}[{index}]", str(each), text)
        for index, each in enumerate(choices):
            if each > most:
                text = f"option is larger than capacity value: {most}"
                yield invalid(f"{place}[{index}]", str(each), text)
        if default not in choices:
            text = "default value is not valid according to the requestPolicy"
            yield invalid(place, str(default), text)
    elif (limits := policy.get("validRange")) is not None:
        yield from _validate_range(limits, default, most, f"{path}.validRange")


def _validate_range(limits: Object, default: Quantity, most: Quantity, path: str) -> FieldErrors:
    if limits.get("min") is None:
        yield required(f"{path}.min", "required when validRange is defined")
        return
    low = Quantity.parse(str(limits["min"]))
    if low > most:
        yield invalid(f"{path}.min", str(low), f"min is larger than capacity value: {most}")
    if default < low:
        yield invalid(f"{path}.min", str(default), f"default is less than min: {low}")
    yield from _validate_maximum(limits, default, most, path)
    if (step := limits.get("step")) is not None:
        size = Quantity.parse(str(step))
        if low + size > most:
            text = f"one step {low + size} is larger than capacity value: {most}"
            yield invalid(f"{path}.step", str(step), text)
        for each in (default, *([limits["max"]] if limits.get("max") is not None else [])):
            if (_count(each) - _count(low)) % max(_count(size), 1):
                text = f"value is not a multiple of a given step ({step}) from ({low})"
                yield invalid(f"{path}.step", str(each), text)


def _count(amount: Any) -> int:
    """Return an amount in whole units, rounded up."""
    return -(-Quantity.parse(str(amount)).nano // 10**9)


def _validate_maximum(limits: Object, default: Quantity, most: Quantity, path: str) -> FieldErrors:
    if limits.get("max") is None:
        return
    low = Quantity.parse(str(limits["min"]))
    high = Quantity.parse(str(limits["max"]))
    if low > high:
        yield invalid(f"{path}.max", str(low), f"min is larger than max: {high}")
    if high > most:
        yield invalid(f"{path}.max", str(high), f"max is larger than capacity value: {most}")
    if default > high:
        yield invalid(f"{path}.max", str(default), f"default is more than max: {high}")
