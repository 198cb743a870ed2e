"""Authentication: from the credentials of a request to a `User`.

`authentication` has the ports and asks the authenticators in order. Each kind of credentials is an
`Authenticator`.
"""
