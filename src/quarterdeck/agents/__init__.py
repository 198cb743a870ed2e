"""What runs beside a workload, or pretends to: agents that call the network services.

Imports what stands below, never an operator or a service: an agent knows a protocol and an
address.
"""
