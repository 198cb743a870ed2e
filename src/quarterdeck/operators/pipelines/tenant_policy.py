"""The reconciler of TenantPolicy: reports whether and where a policy is enforced.

The policy itself is enforced by admission (`admission`, `tenancy`).
"""

from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.fleetmanagement.v1alpha1 import TenantPolicy
from quarterdeck.kit.plural import format_count
from quarterdeck.meta.conditions import TRUE
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines import validation
from quarterdeck.operators.pipelines.conditions import READY, VALID, Reason
from quarterdeck.runtime import Context, Controller, Lister, Stalled, Watch


async def reconcile(policy: TenantPolicy, ctx: Context[TenantPolicy]) -> None:
    """Count the subjects and namespaces of a policy; an invalid one stalls, and is not enforced."""
    problems = [each.text for each in validation.check(policy) if each.is_error]
    if problems:
        raise Stalled(Reason.VALIDATION_ERROR, "; ".join(problems))
    selector = policy.spec.namespace_selector
    namespaces = await ctx.list(Namespace)
    bound = [each for each in namespaces if selector is None or selector.matches(_get_labels(each))]
    ctx.status.set(bound_subject_count=len(policy.spec.subjects), bound_namespaces=len(bound))
    ctx.status.set_condition(VALID, TRUE, Reason.VALID)
    text = f"applies to {format_count(len(bound), 'namespace')}"
    ctx.status.set_condition(READY, TRUE, Reason.VALID, text)


def _get_labels(namespace: Namespace) -> dict[str, str]:
    return dict(namespace.metadata.labels)


def list_policies(namespace: Namespace, lister: Lister) -> list[Key]:
    """Every policy: a changed namespace may affect each."""
    return [policy.key for policy in lister.list(TenantPolicy)]


def build_tenant_policy_controller() -> Controller[TenantPolicy]:
    """The declaration of the TenantPolicy controller."""
    return Controller(
        reconcile=reconcile,
        for_=TenantPolicy,
        watches=(Watch(Namespace, list_policies),),
        conditions=(READY, VALID),
        workers=1,
    )
