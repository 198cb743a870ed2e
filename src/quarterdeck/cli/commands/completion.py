"""`quarterdeck completion`: a script that completes commands, flags, kinds and names in a shell.

Commands and flags stand in the script of bash, commands in that of fish; everything else is asked
from `cli.word_completion`, without a terminal: a credential plugin must not ask for a password
while somebody types a command.
"""

import enum
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.commands import Found, walk
from quarterdeck.cli.parameters import Argument


class Shell(enum.StrEnum):
    """Shells with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a completion script: `source <(quarterdeck completion bash)`.
    Names come from the cluster if it answers within two seconds; QUARTERDECK_COMPLETION_TIMEOUT
    sets another number of seconds.
    """
    entries = list(walk())
    match shell:
        case Shell.BASH:
            print(_bash(entries))
        case Shell.ZSH:
            print(_ZSH)
        case Shell.FISH:
            print(_fish(entries))


COMMAND = Command(completion)


def list_words(found: Found) -> list[str]:
    """What may follow a command: the commands of a group, or the flags."""
    words = list(found.group)
    if found.command is not None:
        for action in found.command.build_parser(found.prog)._actions:
            words += [each for each in action.option_strings if each.startswith("--")]
    return words


def _bash(entries: list[Found]) -> str:
    tops = [each.prog.split()[1] for each in entries if len(each.prog.split()) == 2]
    cases = "\n".join(
        f"    '{' '.join(each.prog.split()[1:])}') words='{' '.join(list_words(each))}'"
        f" asks={'1' if each.command else ''} ;;"
        for each in entries
    )
    return f"""_quarterdeck() {{
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
    local given=("${{COMP_WORDS[@]:1:COMP_CWORD}}")
    words="$("${{COMP_WORDS[0]}}" __complete "${{given[@]}}" </dev/null 2>/dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ ${{#COMPREPLY[@]}} -eq 0 ]; then
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -F _quarterdeck quarterdeck qd"""


_ZSH = r"""#compdef quarterdeck qd
_quarterdeck() {
  local -a offered
  offered=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" </dev/null 2>/dev/null)}")
  offered=("${(@)offered:#}")
  if (( ${#offered} )); then
    compadd -- "${(@)offered}"
  else
    _files
  fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _quarterdeck quarterdeck qd"""


def _fish(entries: list[Found]) -> str:
    lines = []
    for found in entries:
        name, *below = found.prog.split()[1:]
        if not below:
            summary = found.summary.replace("'", r"\'")
            lines.append(
                f"complete -c quarterdeck -n __fish_use_subcommand -f -a {name} -d '{summary}'"
            )
    words = "(commandline -opc)[2..-1] (commandline -ct)"
    asked = f"(quarterdeck __complete {words} </dev/null 2>/dev/null)"
    lines.append(f"complete -c quarterdeck -n 'not __fish_use_subcommand' -a '{asked}'")
    lines.append("complete -c qd -w quarterdeck")
    return "\n".join(lines)
