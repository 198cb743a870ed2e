"""`quarterdeck hypervisor`: the controls of simulated hypervisors.

Everything goes through one ConfigMap that the operator follows, so that demos, tests and people
use the same controls.
"""

COMMANDS = {
    "fail": "Inject failures into calls of the simulator",
    "heal": "Remove all failure rules",
    "timing": "Set the latencies of the simulator",
    "act": "Change nodes and VMs outside the operator",
    "show": "Show failure rules, timing and actions",
}
