"""Rules that object metadata obeys whatever the kind: names, labels, annotations, owners.

`metadata` applies the string rules of `meta.names` to an object. Pure.
"""
