"""Reads clusters: what is collected from each, over a client. Shared by hub and collector agent.

Start at `cluster` (nodes, totals, operators, short lists) and `source` (a MetricSource's objects).
What is made of the objects is decided in `inventory` and `engine`; here they are only read.
"""
