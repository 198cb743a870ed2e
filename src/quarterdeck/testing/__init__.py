"""The test kit we ship: a pytest plugin, a virtual clock, fault rules, an intercepting client.

Nothing in Quarterdeck imports it; it may import everything below `cli`.
"""
