"""What is served: resources, the rules of their kinds, and the table of both.

`resource` is the face every kind is written against; `table` is the registry that requests are
looked up in and that changes while the server runs, because custom resources come and go.

Where the resources come from:
    `server.kinds.build_builtin_resources() -> Iterable[Resource]`      every built-in kind
    `server.custom.definition_resources() -> Iterable[Resource]`  CustomResourceDefinition itself
    `server.custom.custom_resources(definition: Object) -> Sequence[Resource]`
                                                                  the served versions of one of them
"""
