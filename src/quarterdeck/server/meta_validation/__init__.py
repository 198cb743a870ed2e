"""Rules that object metadata obeys whatever the kind: names, labels, annotations, owners.

`names` holds the string rules with Kubernetes' exact sentences; `metadata` applies them to an
object. Pure; kinds use `names` for their own fields too.
"""
