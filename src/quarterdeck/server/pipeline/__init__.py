"""What happens to a request before and around its verb, one concern a module.

Order: `guard` (plain port only) -> `authn` -> `impersonation` -> `authz` -> `decode` ->
`admission` -> the verb.
"""
