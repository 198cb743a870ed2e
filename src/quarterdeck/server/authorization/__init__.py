"""Authorization: decides whether a user is permitted to make a request.

`authorizer` has the port, `Authorizer`, and the check that every request must pass.
"""
