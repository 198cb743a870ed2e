"""A parser that recovers from errors as ANTLR's parsers do, and reports the same errors."""

import re
from collections.abc import Sequence

from quarterdeck.cel.syntax.diagnosis.grammar import ORDER, build_grammar
from quarterdeck.cel.syntax.diagnosis.lookahead import (
    EOF,
    EPSILON,
    NoAlternative,
    reuse_lookahead,
)
from quarterdeck.cel.syntax.diagnosis.network import Call, Choice, Element, Loop, Match, Role, State
from quarterdeck.cel.syntax.lexer import LexError, Token
from quarterdeck.cel.syntax.stream import SyntaxIssue

_MOST_ATTEMPTS = 30
_KEYWORD_AS_NAME = re.compile(r"no viable alternative at input '.(true|false|null)'")


class _Mismatch(Exception):
    """Raised when the next token does not match the rule."""


class _GivenUp(Exception):
    """Raised after too many attempts to recover."""


def diagnose(
    source: str, tokens: Sequence[Token], skipped: Sequence[LexError], *, has_escapes: bool
) -> list[SyntaxIssue]:
    """The syntax errors in a text, in ANTLR's words.

    Raises:
        RecursionError: when rules are nested too deeply.
    """
    parser = _Recovery(source, tokens, skipped, has_escapes=has_escapes)
    try:
        parser.call("start", State(), 0)
    except _GivenUp:
        pass
    return parser.issues


class _Recovery:
    def __init__(
        self,
        source: str,
        tokens: Sequence[Token],
        skipped: Sequence[LexError],
        *,
        has_escapes: bool,
    ) -> None:
        self.issues: list[SyntaxIssue] = []
        self._source = source
        self._skipped = skipped
        self._tokens = tokens
        self._network = build_grammar(has_escapes=has_escapes)
        self._lookahead = reuse_lookahead(self._network)
        self._at = 0
        self._state = State()
        self._stack = 0
        self._precedence = 0
        self._is_recovering = False
        """Whether no token has matched since the last error: no error is reported then."""
        self._attempts = 0
        self._failed_at = -1
        self._failed_states: set[State] = set()

    # tokens

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _consume(self) -> None:
        self._at = min(self._at + 1, len(self._tokens) - 1)

    def _consume_until(self, wanted: frozenset[str]) -> None:
        while self._peek().kind != EOF and self._peek().kind not in wanted:
            self._consume()

    # rules

    def call(self, rule: str, follow: State, precedence: int) -> None:
        """Parse a rule; on an error, report it, recover, and leave the rule."""
        outside = self._stack, self._precedence
        if rule != "start":
            self._stack = self._lookahead.push(follow, self._stack)
        self._precedence = precedence
        try:
            self._walk(self._network.rules[rule].body)
        except NoAlternative as error:
            self._report_no_alternative(error.end)
            self._recover()
        except _Mismatch:
            self._report("mismatched input {token} expecting {expected}")
            self._recover()
        self._stack, self._precedence = outside

    def _walk(self, elements: Sequence[Element]) -> None:
        for element in elements:
            self._state = element.state
            match element:
                case Match(_, tokens):
                    self._match(tokens)
                case Call(_, follow, rule, precedence):
                    self.call(rule, follow, precedence)
                case Choice(_, alternatives, first):
                    self._synchronize()
                    self._walk(alternatives[self._choose(element.state, first)])
                case Loop():
                    self._repeat(element)

    def _repeat(self, loop: Loop) -> None:
        self._synchronize()
        if not loop.at_least_once and self._choose(loop.state, loop.first):
            return
        while True:
            self._walk(loop.body)
            self._state = loop.back
            self._synchronize()
            decision = loop.back if loop.at_least_once else loop.state
            if self._choose(decision, loop.first):
                return

    def _choose(self, state: State, first: frozenset[str] | None) -> int:
        if first is not None:
            return int(self._peek().kind not in first)
        tokens = self._tokens[self._at :]
        return self._lookahead.predict(state, self._stack, tokens, precedence=self._precedence)

    # errors

    def _match(self, wanted: frozenset[str]) -> None:
        if self._peek().kind in wanted:
            self._accept()
            self._consume()
            return
        self._count_attempt()
        if self._delete_token():
            self._consume()
        elif self._peek().kind in self._lookahead.find_next_in_context(
            self._state.edges[0].target, self._stack
        ):
            self._report("missing {expected} at {token}")
        else:
            raise _Mismatch

    def _accept(self) -> None:
        self._is_recovering = False
        self._failed_at, self._failed_states = -1, set()

    def _synchronize(self) -> None:
        """Handle a token that cannot follow here, before an alternative is chosen by it."""
        if self._is_recovering:
            return
        following = self._lookahead.find_next(self._state)
        if EPSILON in following or self._peek().kind in following:
            return
        if self._state.role is Role.BLOCK:
            if not self._delete_token():
                raise _Mismatch
        elif self._state.role is Role.LOOP_BACK:
            self._report("extraneous input {token} expecting {expected}")
            self._consume_until(self._find_expected() | self._find_recovery_tokens())

    def _delete_token(self) -> bool:
        """Report and delete the current token if the one after it is expected; else False."""
        if self._peek(1).kind not in self._find_expected():
            return False
        self._report("extraneous input {token} expecting {expected}")
        self._consume()
        self._accept()
        return True

    def _recover(self) -> None:
        """Skip tokens up to one with which an enclosing rule can continue."""
        self._count_attempt()
        if self._failed_at == self._at and self._state in self._failed_states:
            self._consume()
        self._failed_at = self._at
        self._failed_states.add(self._state)
        self._consume_until(self._find_recovery_tokens())

    def _count_attempt(self) -> None:
        if self._attempts == _MOST_ATTEMPTS:
            message = f"error recovery attempt limit exceeded: {_MOST_ATTEMPTS}"
            self.issues.append(SyntaxIssue(self._peek(), message))
            raise _GivenUp
        self._attempts += 1

    def _find_recovery_tokens(self) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        stack = self._stack
        while stack:
            follow, stack = self._lookahead.get_top(stack)
            found |= self._lookahead.find_next(follow)
        return found - {EPSILON}

    def _find_expected(self) -> frozenset[str]:
        """The tokens that may follow the current state, in this rule and the enclosing ones."""
        following = found = self._lookahead.find_next(self._state)
        stack = self._stack
        while stack and EPSILON in following:
            follow, stack = self._lookahead.get_top(stack)
            following = self._lookahead.find_next(follow)
            found |= following
        return (found - {EPSILON}) | ({EOF} if EPSILON in following else frozenset())

    # messages

    def _report(self, message: str) -> None:
        if self._is_recovering:
            return
        self._is_recovering = True
        token = self._peek()
        text = message.format(
            token=_quote(token.text), expected=_format_kinds(self._find_expected())
        )
        self.issues.append(SyntaxIssue(token, text))

    def _report_no_alternative(self, end: int) -> None:
        if self._is_recovering:
            return
        self._is_recovering = True
        first, last = self._peek(), self._peek(end)
        stop = last.pos if last.kind == EOF else last.pos + len(last.text)
        text = "<EOF>" if first.kind == EOF else self._cut(first.pos, stop)
        message = f"no viable alternative at input {_quote(text)}"
        message = _KEYWORD_AS_NAME.sub(r"mismatched input '\1' expecting IDENTIFIER", message)
        self.issues.append(SyntaxIssue(last, message))

    def _cut(self, start: int, stop: int) -> str:
        """A part of the source without the characters that the lexer skipped."""
        parts = []
        for bad in self._skipped:
            if start <= bad.pos < stop:
                parts.append(self._source[start : bad.pos])
                start = bad.end
        return "".join([*parts, self._source[start:stop]])


def _quote(text: str) -> str:
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"'{text}'"


def _format_kinds(kinds: frozenset[str]) -> str:
    """Format the kinds of expected tokens: one alone, or several in braces."""
    shown = ["<EOF>"] if EOF in kinds else []
    shown += [kind if kind.isupper() else f"'{kind}'" for kind in ORDER if kind in kinds]
    return shown[0] if len(shown) == 1 else f"{{{', '.join(shown)}}}"
