"""Pod Security Standards: which privileges on the host pods of a namespace may have.

Start at `plugin` (enforce, warn and audit), then `levels` (set by the labels of a namespace) and
`baseline` and `restricted` (the checks of both levels).
"""
