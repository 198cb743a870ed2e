"""The Fleet Management protocol as pure functions: messages, their two encodings, Connect's rules.

Shared by the fleet server and by the operator's client. A message is a dictionary with the names
of proto JSON. Start at `messages`.
"""
