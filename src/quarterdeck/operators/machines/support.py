"""Finds fields that have no effect, so that a condition can name them. Pure."""

from collections.abc import Iterator
from importlib.metadata import entry_points

from quarterdeck.apis.hypervisor.bootstrap import Attestation
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.apis.hypervisor.shape import MachineNetwork
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.operators.machines.invitation import (
    MAX_TOKEN_S,
    METHOD_GROUP,
    METHODS,
    MIN_TOKEN_S,
    needs_token,
)
from quarterdeck.operators.machines.plan.cron import InvalidSchedule, parse_schedule
from quarterdeck.operators.machines.sizes import parse_seconds


def find_unsupported_in_cluster(cluster: HypervisorCluster) -> list[str]:
    """Find fields of a HypervisorCluster that have no effect."""
    spec, found = cluster.spec, []
    if spec.dns is not None:
        if spec.dns.register_vms:
            found.append("spec.dns.registerVMs")
        if spec.dns.dns_provider is not None:
            found.append("spec.dns.dnsProvider")
        if spec.dns.validation is not None and spec.dns.validation.enabled:
            found.append("spec.dns.validation")
    validation = spec.network.validation if spec.network is not None else None
    if validation is not None and validation.enabled:
        found.append("spec.network.validation")
    return found


def find_unsupported_in_template(template: HypervisorMachineTemplate) -> list[str]:
    """Find fields of a template that have no effect."""
    spec, found = template.spec, []
    if spec.bootstrap.method == "none" and spec.bootstrap.config is not None:
        found.append("spec.bootstrap.config")
    if spec.bootstrap.method in ("external-secrets", "join-cluster"):
        found.append("spec.bootstrap.method")
    found += [f"spec.{field}" for field in _find_network_problems(spec.network)]
    if spec.attestation is not None:
        found += _find_attestation_problems(spec.attestation)
    return found


def _find_attestation_problems(attestation: Attestation) -> Iterator[str]:
    """Find an attestation method that is not installed, or an invalid lifetime of tokens."""
    method, config = attestation.method, attestation.config
    if method not in METHODS and not entry_points(group=METHOD_GROUP, name=method):
        known = ", ".join(METHODS)
        yield (
            f"spec.attestation.method ({method!r} is not one of {known}, nor installed here as an "
            f"entry point of {METHOD_GROUP}; machines wait unless the bootstrap service has it)"
        )
    lifetime_s = parse_seconds(config.join_token_ttl) if config is not None else MIN_TOKEN_S
    if needs_token(method) and config is not None and not MIN_TOKEN_S <= lifetime_s <= MAX_TOKEN_S:
        used = "1m" if lifetime_s < MIN_TOKEN_S else "24h"
        yield f"spec.attestation.config.joinTokenTTL ({config.join_token_ttl}; {used} is used)"


def find_unsupported_in_claim(claim: MachineClaim) -> list[str]:
    """Find fields of a claim that have no effect."""
    found = [f"spec.{field}" for field in _find_network_problems(claim.spec.network)]
    if claim.spec.provider_id:
        found.append("spec.providerID")
    workload = claim.spec.workload_config
    if workload is not None and claim.spec.runner_pool_ref is None:
        found.append("spec.workloadConfig")
    elif workload is not None and workload.type in ("gitlab-ci", "buildkite"):
        found.append("spec.workloadConfig.type")
    return found


def find_unsupported_in_fleet(fleet: Fleet) -> list[str]:
    """Find fields of a fleet that have no effect."""
    found, placement = [], fleet.spec.placement
    if placement is not None and placement.node_selector:
        found.append("spec.placement.nodeSelector")
    found += _find_bad_schedules(fleet)
    overrides = fleet.spec.template.spec if fleet.spec.template is not None else None
    if overrides is not None:
        found += [
            f"spec.template.spec.{field}" for field in _find_network_problems(overrides.network)
        ]
        if overrides.workload is not None:
            found.append("spec.template.spec.workload")
    return found


def _find_bad_schedules(fleet: Fleet) -> Iterator[str]:
    """Find invalid schedules, whose budgets are always active."""
    disruption = fleet.spec.disruption
    for index, budget in enumerate(disruption.budgets if disruption is not None else ()):
        try:
            if budget.schedule:
                parse_schedule(budget.schedule)
        except InvalidSchedule as error:
            yield f"spec.disruption.budgets[{index}].schedule ({error}; the budget always applies)"


def find_unsupported_in_pool(pool: RunnerPool) -> list[str]:
    """Find fields of a pool that have no effect."""
    found = []
    if pool.spec.workload.type in ("gitlab-ci", "buildkite"):
        found.append("spec.workload.type")
    github = pool.spec.workload.config.github if pool.spec.workload.config else None
    if github is not None and github.runner_group:
        found.append("spec.workload.config.github.runnerGroup")  # needs the bootstrap service
    is_polled = pool.spec.polling is not None and pool.spec.polling.enabled
    if is_polled and (github is None or not github.repository):
        found.append("spec.polling")  # GitHub lists no jobs of an organization
    return found


def _find_network_problems(network: MachineNetwork | None) -> Iterator[str]:
    if network is None:
        return
    dhcp = network.dhcp
    if dhcp is not None and (
        dhcp.request_static_lease or dhcp.lease_time or dhcp.client_identifier != "mac"
    ):
        yield "network.dhcp"
