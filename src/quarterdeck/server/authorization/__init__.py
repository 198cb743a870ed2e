"""Authorization: whether a user may do something.

`authorization` has the port, `Authorizer`, and the check every request passes.
"""
