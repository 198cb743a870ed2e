"""`quarterdeck hypervisor`: the controls of simulated hypervisors.

Everything goes through one ConfigMap that the operator follows, so that demos, tests and people
use the same controls.
"""

COMMANDS = {
    "fail": "Let calls of the simulator go wrong",
    "heal": "Remove all failure rules",
    "timing": "Change how long the simulator takes",
    "act": "Do something behind the operator's back",
    "show": "Show the controls in force",
}
