"""Resources, their strategies, and what all kinds share.

`resource` has the interface between verbs and kinds, `registry` the resources served at the moment:
it changes while the server runs, because custom resources come and go. `codec` encodes stored
objects, `deletion` and `metadata_validation` are the rules of object metadata, `printer` formats
table cells, `name_generator` makes names.

Where the resources come from:
    `server.kinds.build_builtin_resources()`              every built-in kind
    `server.custom.build_definition_resources()`          CustomResourceDefinition itself
    `server.custom.build_custom_resources(definition)`    the served versions of a definition
"""
