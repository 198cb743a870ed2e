"""Rules of a whole schema: compiled when a CRD is written, run on every object.

`compile_rules` returns the errors that CRD creation reports. `RuleSet.validate` visits only the
parts of an object whose schema nodes have rules, there or below.
"""

from collections.abc import Container

import msgspec

from quarterdeck.cel.cost.budget import PER_OBJECT_LIMIT
from quarterdeck.cel.rules.compilation import CostLedger, check_entries, compile_node
from quarterdeck.cel.rules.evaluation import Evaluation, ValidationResult
from quarterdeck.cel.rules.fixed import (
    FixedRules,
    are_fixed_rules_satisfied,
    find_fixed_rules,
)
from quarterdeck.cel.rules.node import CompiledRule, RuleNode
from quarterdeck.cel.rules.satisfaction import are_satisfied
from quarterdeck.cel.schema.declaration import declare_type
from quarterdeck.meta import field
from quarterdeck.meta.field import FieldError
from quarterdeck.meta.schema import Node

QUICK_LIMIT = 50_000
"""Maximum cost of rules that `validate_quickly` evaluates, since it blocks the event loop. A rule
that fails is evaluated step by step, which takes up to 3 µs for a unit."""
SCHEMA_PATH = "spec.validation.openAPIV3Schema"
"""The path in errors of Kubernetes if all versions of a CRD have the same schema."""


class RuleSet:
    """Every rule of one schema."""

    __slots__ = ("_fixed", "_has_looked", "root")

    def __init__(self, root: RuleNode | None) -> None:
        self.root = root
        self._fixed: tuple[FixedRules, ...] | None = None
        self._has_looked = False

    def __bool__(self) -> bool:
        return self.root is not None

    def validate(
        self,
        obj: object,
        old_obj: object = None,
        *,
        budget: int = PER_OBJECT_LIMIT,
        size: int | None = None,
    ) -> list[FieldError]:
        """The errors of an object; `old_obj` is the one it replaces."""
        return self.check(obj, old_obj, budget=budget, size=size).errors

    def validate_quickly(self, obj: object, old_obj: object = None) -> list[FieldError] | None:
        """The same; None if the rules could cost more than `QUICK_LIMIT`."""
        if self.root is None:
            return []
        if old_obj is None and self._are_fixed_and_satisfied(self.root, obj):
            return []
        size = len(msgspec.json.encode(obj))
        if old_obj is None and are_satisfied(self.root, obj, size=size, budget=QUICK_LIMIT):
            return []
        evaluation = Evaluation(QUICK_LIMIT, size=size)
        if not evaluation.walk(self.root, obj, old_obj):
            return None
        return evaluation.outcome.errors

    def _are_fixed_and_satisfied(self, root: RuleNode, obj: object) -> bool:
        if not self._has_looked:
            self._fixed = find_fixed_rules(root, QUICK_LIMIT)
            self._has_looked = True
        return self._fixed is not None and are_fixed_rules_satisfied(self._fixed, obj)

    def check(
        self,
        obj: object,
        old_obj: object = None,
        *,
        budget: int = PER_OBJECT_LIMIT,
        size: int | None = None,
    ) -> ValidationResult:
        """The errors and warnings of an object.

        A rule without `oldSelf` that fails on a value which the update left unchanged has failed
        before: it is a warning. `size`, the bytes of the object as JSON, is measured if not given.
        """
        if self.root is None:
            return ValidationResult([], [])
        if size is None:
            size = len(msgspec.json.encode(obj))
        quick = Evaluation(budget, size=size)
        if quick.walk(self.root, obj, old_obj):
            return quick.outcome
        exact = Evaluation(budget, size=None)
        exact.walk(self.root, obj, old_obj)
        return exact.outcome


def compile_rules(
    node: Node, *, path: str = SCHEMA_PATH, stored: Container[str] | None = None
) -> RuleSet | list[FieldError]:
    """Compile the rules of a CRD's schema; returns all errors if there are any.

    The schema must be structural, which `meta.structural` checks. For a schema that is being
    written, `stored` are the expressions it had before: others are new, and may use fewer
    functions. By default all expressions count as stored.
    """
    compiler = _Compiler(stored)
    root = compiler.compile_tree(node, path, cardinality=1, uncorrelatable="", root=True)
    errors = compiler.entry_errors + compiler.errors + compiler.ledger.find_errors(path)
    return errors if errors else RuleSet(root)


class _Compiler:
    def __init__(self, stored: Container[str] | None) -> None:
        self.stored = stored
        self.ledger = CostLedger()
        self.errors: list[FieldError] = []
        self.entry_errors: list[FieldError] = []

    def compile_tree(
        self,
        node: Node,
        path: str,
        *,
        cardinality: int | None,
        uncorrelatable: str,
        root: bool = False,
    ) -> RuleNode | None:
        """Compile the rules of a node and of those below it; None if there are none.

        `cardinality` is how often it can occur in an object, None if nothing bounds that;
        `uncorrelatable` the innermost list above whose items cannot be matched with old ones.
        """
        before = len(self.entry_errors)
        inner = _multiply(cardinality, _count_children(node))
        additional = items = None
        if isinstance(node.additional, Node):
            place, part = f"{path}.additionalProperties", node.additional
            additional = self.compile_tree(
                part, place, cardinality=inner, uncorrelatable=uncorrelatable
            )
        properties: dict[str, RuleNode] = {}
        for name, child in node.properties.items():
            place = f"{path}.properties[{name}]"
            found = self.compile_tree(
                child, place, cardinality=inner, uncorrelatable=uncorrelatable
            )
            if found is not None:
                properties[name] = found
        if node.items is not None:
            last = uncorrelatable if node.list_type == "map" else path
            place = f"{path}.items"
            items = self.compile_tree(node.items, place, cardinality=inner, uncorrelatable=last)
        self.entry_errors += check_entries(node, path)
        rules: tuple[CompiledRule, ...] = ()
        if node.rules and len(self.entry_errors) == before:
            rules = self.compile_own_rules(node, path, cardinality, uncorrelatable, root=root)
        all_of = self.compile_all_of(node, path, root=root)
        if not (rules or properties or items or additional or all_of):
            return None
        return RuleNode(
            type=node.type,
            rules=rules,
            properties=properties,
            additional=additional,
            items=items,
            list_keys=node.list_map_keys if node.list_type == "map" else None,
            all_of=all_of,
        )

    def compile_own_rules(
        self, node: Node, path: str, cardinality: int | None, uncorrelatable: str, *, root: bool
    ) -> tuple[CompiledRule, ...]:
        declared = declare_type(node, root=root or node.embedded_resource)
        if declared is None:
            words = (
                "internal error: failed to construct type information for "
                "x-kubernetes-validations rules: unable to convert structural schema to CEL "
                "declarations"
            )
            self.errors.append(field.internal(f"{path}.x-kubernetes-validations", words))
            return ()
        compiled, errors = compile_node(
            node,
            declared,
            path,
            cardinality=cardinality,
            uncorrelatable=uncorrelatable,
            ledger=self.ledger,
            stored=self.stored,
        )
        self.errors += errors
        return tuple(compiled)

    def compile_all_of(self, node: Node, path: str, *, root: bool) -> tuple[RuleNode, ...]:
        """Compile the rules inside allOf, which run on the same value with the type of the node."""
        found: list[RuleNode] = []
        for at, part in enumerate(node.all_of):
            if not part.rules:
                continue
            declared = declare_type(node, root=root or node.embedded_resource)
            if declared is None:
                continue
            compiled, errors = compile_node(
                part,
                declared,
                f"{path}.allOf[{at}]",
                cardinality=1,
                uncorrelatable="",
                ledger=CostLedger(),
                stored=self.stored,
            )
            self.errors += errors
            found.append(RuleNode(type=node.type, rules=tuple(compiled)))
        return tuple(found)


def _count_children(node: Node) -> int | None:
    """How many children one occurrence of a node can have; None if nothing bounds it."""
    match node.type:
        case "object" if node.additional is not None:
            return None if node.max_properties is None else max(node.max_properties, 0)
        case "array":
            return None if node.max_items is None else max(node.max_items, 0)
        case _:
            return 1


def _multiply(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left * right
