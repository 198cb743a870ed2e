"""`quarterdeck completion`: a script that completes commands and flags in a shell."""

import argparse
from importlib import import_module
from typing import Annotated

import typer

from quarterdeck.cli.command import CommandError, call, command
from quarterdeck.cli.main import COMMANDS

SHELLS = ("bash", "zsh", "fish")
_SETTINGS = ("up", "run", "doctor")


def run(arguments: list[str]) -> int:
    """Print a script."""
    return call("completion", completion, arguments)


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish")],
) -> None:
    """Print a completion script: `source <(quarterdeck completion bash)`."""
    if shell not in SHELLS:
        raise CommandError(
            f"there is no completion for {shell!r}; there is: {', '.join(SHELLS)}", 2
        )
    flags = {name: flags_of(name) for name in COMMANDS}
    print(_fish(flags) if shell == "fish" else _bash(flags, shell))


def flags_of(name: str) -> list[str]:
    """The long flags of a command, whichever way it declares them."""
    options = ["--help"]
    module = import_module(f"quarterdeck.cli.commands.{name.replace('-', '_')}")
    if name in _SETTINGS:
        from quarterdeck.cli.settings import parser

        options += _options(parser("up" if name == "doctor" else name, ""))
    elif (make := getattr(module, "make_parser", None)) is not None:
        options += _options(make())
    elif (function := getattr(module, name, None)) is not None:
        options += [option for each in command(name, function).params for option in each.opts]
    return sorted({each for each in options if each.startswith("--")})


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings]


def _bash(flags: dict[str, list[str]], shell: str) -> str:
    cases = "\n".join(f"    {name}) words='{' '.join(each)}' ;;" for name, each in flags.items())
    head = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return f"""{head}_quarterdeck() {{
  local words="{" ".join(flags)}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
  if [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
  fi
}}
complete -F _quarterdeck quarterdeck qd"""


def _fish(flags: dict[str, list[str]]) -> str:
    lines = [
        f"complete -c quarterdeck -n __fish_use_subcommand -f -a {name} -d '{COMMANDS[name]}'"
        for name in flags
    ]
    lines += [
        f"complete -c quarterdeck -n '__fish_seen_subcommand_from {name}' -l {flag[2:]}"
        for name, each in flags.items()
        for flag in each
    ]
    return "\n".join(lines)
