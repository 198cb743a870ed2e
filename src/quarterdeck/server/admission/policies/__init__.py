"""ValidatingAdmissionPolicies: expressions that decide about writes, without a webhook.

Start at `plugin` (which policies are about a write, and what their decisions do), then `policy`
(what a policy and its bindings say), `params` (the objects a binding refers to) and `evaluator`
(the expressions of one policy on one write).
"""
