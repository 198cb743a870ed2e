"""What `get --output` accepts: a form, or a form with a template."""

from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Form

if TYPE_CHECKING:
    from quarterdeck.wire.path import ResourcePath

_FORMS = ("table", "wide", "yaml", "json", "name")
_TEMPLATES = ("jsonpath", "custom-columns")


class OutputFormat(NamedTuple):
    """A parsed `--output`."""

    name: str
    template: str = ""

    @classmethod
    def parse(cls, text: str) -> "OutputFormat":
        """Read the value of the flag.

        Raises:
            CommandError: naming the formats there are.
        """
        name, equals, template = text.partition("=")
        if (name in _FORMS and not equals) or (name in _TEMPLATES and template):
            return cls(name, template)
        from quarterdeck.kit.similar import suggest

        if name in _TEMPLATES:
            raise CommandError(f"--output {name} has no template: give {name}=TEMPLATE", REFUSED)
        known = ", ".join((*_FORMS, *(f"{each}=TEMPLATE" for each in _TEMPLATES)))
        hint = suggest(name, (*_FORMS, *_TEMPLATES))
        raise CommandError(f"invalid --output {text!r}: must be one of {known}{hint}", REFUSED)

    @property
    def is_wide(self) -> bool:
        """Whether columns of low priority are shown."""
        return self.name == "wide"

    @property
    def is_table(self) -> bool:
        """Whether the server makes the table."""
        return self.name in ("table", "wide")

    def render(
        self, listed: "list[tuple[ResourcePath, list[dict[str, Any]]]]", *, is_single: bool
    ) -> str:
        """Objects as text; a template and JSON have one object, or a List."""
        from quarterdeck.cli.output import (
            format_columns,
            format_documents,
            format_list,
            format_reference,
        )

        items = [item for _, found in listed for item in found]
        match self.name:
            case "name":
                return "\n".join(
                    format_reference(item, str(item["kind"]).lower(), path.group)
                    for path, found in listed
                    for item in found
                )
            case "jsonpath":
                from quarterdeck.cli.template import render_jsonpath

                whole = {"apiVersion": "v1", "kind": "List", "items": items}
                return render_jsonpath(self.template, items[0] if is_single else whole)
            case "custom-columns":
                from quarterdeck.cli.template import build_custom_columns

                return format_columns(build_custom_columns(self.template, items))
            case "json" if not is_single:
                return format_list(items)
            case _:
                return format_documents(items, Form(self.name))
