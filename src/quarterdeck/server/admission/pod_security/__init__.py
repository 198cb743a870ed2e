"""Pod Security Standards: what pods of a namespace may ask of their host.

Start at `plugin` (enforce, warn and audit), then `levels` (what the labels of a namespace say) and
`baseline` and `restricted` (the checks of both levels).
"""
