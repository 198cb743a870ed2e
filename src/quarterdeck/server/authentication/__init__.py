"""Authentication: finds the `User` of a request by its credentials.

`authenticator` has the port and calls the authenticators in order. Each kind of credentials has its
own `Authenticator`.
"""
