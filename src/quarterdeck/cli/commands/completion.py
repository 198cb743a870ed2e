"""`quarterdeck completion`: a script that completes commands, flags, kinds and names in a shell.

Commands and flags stand in the script; everything else is asked from `cli.word_completion`.
"""

import enum
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.main import Found, walk
from quarterdeck.cli.parameters import Argument


class Shell(enum.StrEnum):
    """Shells with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a completion script: `source <(quarterdeck completion bash)`."""
    entries = list(walk())
    print(_fish(entries) if shell is Shell.FISH else _bash(entries, shell))


COMMAND = Command(completion)


def list_words(found: Found) -> list[str]:
    """What may follow a command: the commands of a group, or the flags."""
    words = list(found.group)
    if found.command is not None:
        for action in found.command.build_parser(found.prog)._actions:
            if action.help != "==SUPPRESS==":
                words += [each for each in action.option_strings if each.startswith("--")]
    return words


def _bash(entries: list[Found], shell: Shell) -> str:
    tops = [each.prog.split()[1] for each in entries if len(each.prog.split()) == 2]
    cases = "\n".join(
        f"    '{' '.join(each.prog.split()[1:])}') words='{' '.join(list_words(each))}'"
        f" asks={'1' if each.command else ''} ;;"
        for each in entries
    )
    head = "autoload -U +X bashcompinit && bashcompinit\n" if shell is Shell.ZSH else ""
    return f"""{head}_quarterdeck() {{
  local words="{" ".join(tops)}" path="" asks="" index
  local current="${{COMP_WORDS[COMP_CWORD]}}"
  for ((index = 1; index < COMP_CWORD; index++)); do
    path="${{path:+$path }}${{COMP_WORDS[index]}}"
    case "$path" in
{cases}
    esac
  done
  case "$current" in
    -*) asks="" ;;
  esac
  if [ -n "$asks" ]; then
    words="$("${{COMP_WORDS[0]}}" __complete "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -F _quarterdeck quarterdeck qd"""


def _fish(entries: list[Found]) -> str:
    lines = []
    for found in entries:
        *parents, name = found.prog.split()[1:]
        seen = f"__fish_seen_subcommand_from {parents[-1]}" if parents else "__fish_use_subcommand"
        lines.append(f"complete -c quarterdeck -n '{seen}' -f -a {name} -d '{found.summary}'")
        lines += [
            f"complete -c quarterdeck -n '__fish_seen_subcommand_from {name}' -l {word[2:]}"
            for word in list_words(found)
            if word.startswith("--")
        ]
    asked = "(quarterdeck __complete (commandline -opc)[2..-1] (commandline -ct))"
    lines.append(f"complete -c quarterdeck -n 'not __fish_use_subcommand' -a '{asked}'")
    return "\n".join(lines)
