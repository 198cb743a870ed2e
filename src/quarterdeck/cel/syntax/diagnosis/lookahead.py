"""Lookahead: which tokens may follow, and which alternative the next tokens select."""

import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quarterdeck.cel.syntax.diagnosis.network import Network, Role, State
from quarterdeck.cel.syntax.lexer import Token

EPSILON = "epsilon"
"""Represents the end of a rule in a set of tokens that may follow."""
EOF = "EOF"
_CACHED_TOKENS = 4
"""Decisions that need at most this many tokens are cached."""
_MOST_CONTEXTS = 20_000
"""A `Lookahead` with more cached entries than this is replaced, to bound its memory."""


class NoAlternative(Exception):
    """Raised when no alternative matches; `end` is the index of the last token seen."""

    def __init__(self, end: int) -> None:
        super().__init__()
        self.end = end


class _Config(NamedTuple):
    """A state that the parser can reach by choosing an alternative."""

    alternative: int
    state: State
    stack: int
    """The number of the stack in `Lookahead`."""
    is_outside: bool
    """Whether the rule that contains the decision has been left."""


class Lookahead:
    """Finds the tokens that may follow a state, and predicts alternatives."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._stacks: list[tuple[State, int]] = [(State(), 0)]
        """The top of each stack, and the stack below it."""
        self._known: dict[tuple[State, int], int] = {}
        self._next: dict[State, frozenset[str]] = {}
        self._next_in_context: dict[tuple[State, int], frozenset[str]] = {}
        self._chosen: dict[tuple[State, int, int, tuple[str, ...]], int] = {}

    @property
    def is_large(self) -> bool:
        """Whether it has more cached entries than the limit."""
        return len(self._stacks) + len(self._next_in_context) + len(self._chosen) > _MOST_CONTEXTS

    def push(self, follow: State, below: int) -> int:
        """Push a state on a stack; equal stacks have the same number, and 0 is the empty stack."""
        key = (follow, below)
        if key not in self._known:
            self._known[key] = len(self._stacks)
            self._stacks.append(key)
        return self._known[key]

    def get_top(self, stack: int) -> tuple[State, int]:
        """The state after the current rule, and the stack below it."""
        return self._stacks[stack]

    def find_next(self, state: State) -> frozenset[str]:
        """The tokens that may follow a state; `EPSILON` if the end of the rule may."""
        if state not in self._next:
            self._next[state] = self._find_next(state, None)
        return self._next[state]

    def find_next_in_context(self, state: State, stack: int) -> frozenset[str]:
        """The same with the tokens of the calling rules where the end of the rule may follow."""
        key = (state, stack)
        if key not in self._next_in_context:
            self._next_in_context[key] = self._find_next(state, stack)
        return self._next_in_context[key]

    def _find_next(self, state: State, stack: int | None) -> frozenset[str]:
        found: set[str] = set()
        seen: set[tuple[State, int | None]] = set()
        waiting: list[tuple[State, tuple[State, ...], int | None]] = [(state, (), stack)]
        while waiting:
            at, inner, outer = waiting.pop()
            if not inner and (at, outer) in seen:
                continue
            if not inner:
                seen.add((at, outer))
            if at.role is Role.STOP:
                if inner:
                    waiting.append((inner[-1], inner[:-1], outer))
                elif outer is None:
                    found.add(EPSILON)
                elif outer == 0:
                    found.add(EOF)
                else:
                    follow, below = self.get_top(outer)
                    waiting.append((follow, (), below))
            for edge in at.edges:
                if edge.tokens:
                    found |= edge.tokens
                elif edge.rule:
                    start = self._network.rules[edge.rule].start
                    waiting.append((start, (*inner, edge.target), outer))
                else:
                    waiting.append((edge.target, inner, outer))
        return frozenset(found)

    def predict(
        self, decision: State, stack: int, tokens: Sequence[Token], *, precedence: int
    ) -> int:
        """The number of the alternative that the tokens match, counted from 0.

        Raises:
            NoAlternative: when there is none.
        """
        key = (
            decision,
            stack,
            precedence,
            tuple([token.kind for token in tokens[:_CACHED_TOKENS]]),
        )
        if key not in self._chosen:
            chosen, seen = self._predict_uncached(decision, stack, tokens, precedence=precedence)
            if seen > _CACHED_TOKENS:
                return chosen
            self._chosen[key] = chosen
        return self._chosen[key]

    def _predict_uncached(
        self, decision: State, stack: int, tokens: Sequence[Token], *, precedence: int
    ) -> tuple[int, int]:
        """The same without the cache, and how many tokens the decision needed."""
        starts = [edge.target for edge in decision.edges]
        likely = [
            number
            for number, state in enumerate(starts)
            if not self.find_next(state).isdisjoint((tokens[0].kind, EPSILON))
        ]
        if not likely:
            raise NoAlternative(0)
        if len(likely) == 1:
            return likely[0], 1
        begin = [_Config(number, starts[number], stack, is_outside=False) for number in likely]
        configs = self._compute_closure(begin, stack, precedence)
        for at, token in enumerate(tokens):
            if (chosen := _resolve(configs)) is not None:
                return chosen, at
            reached = [
                _Config(config.alternative, edge.target, config.stack, config.is_outside)
                for config in configs
                for edge in config.state.edges
                if token.kind in edge.tokens
            ]
            if not reached:
                done = [config.alternative for config in configs if config.is_outside]
                if done:
                    return min(done), at + 1
                raise NoAlternative(at)
            configs = self._compute_closure(reached, stack, precedence) or reached
        return min(config.alternative for config in configs), len(tokens) + 1

    def _compute_closure(self, configs: list[_Config], base: int, precedence: int) -> list[_Config]:
        """The states before a token that can be reached without consuming a token."""
        seen: set[_Config] = set()
        found: list[_Config] = []
        waiting = [*configs]
        while waiting:
            config = waiting.pop()
            if config in seen:
                continue
            seen.add(config)
            state = config.state
            if state.role is Role.STOP:
                waiting += self._leave_rule(config, base)
            elif state.edges[0].tokens:
                found.append(config)
            else:
                waiting += self._follow_edges(config, base, precedence)
        return found

    def _leave_rule(self, config: _Config, base: int) -> Iterator[_Config]:
        if config.stack:
            follow, below = self.get_top(config.stack)
            is_outside = config.is_outside or config.stack == base
            yield _Config(config.alternative, follow, below, is_outside)

    def _follow_edges(self, config: _Config, base: int, precedence: int) -> Iterator[_Config]:
        number, state, stack, is_outside = config
        is_own_rule = stack == base and not is_outside
        for edge in state.edges:
            if edge.rule:
                start = self._network.rules[edge.rule].start
                yield _Config(number, start, self.push(edge.target, stack), is_outside)
            elif not (is_own_rule and 0 < edge.guard < precedence):
                yield _Config(number, edge.target, stack, is_outside)


def _resolve(configs: Sequence[_Config]) -> int | None:
    """The alternative to choose; None if more tokens may decide it.

    It is the only one left, or the first one if every state is reached by several.
    """
    alternatives = {config.alternative for config in configs}
    if len(alternatives) == 1:
        return alternatives.pop()
    by_state: dict[State, set[int]] = {}
    for config in configs:
        by_state.setdefault(config.state, set()).add(config.alternative)
    if any(len(several) == 1 for several in by_state.values()):
        return None
    return min(alternatives)


_threads = threading.local()


def reuse_lookahead(network: Network) -> Lookahead:
    """Get or create the `Lookahead` of this thread for a network, with its cached predictions.

    Predictions are cached, as in ANTLR: a schema may have thousands of rules with the same error.
    """
    kept: dict[Network, Lookahead] | None = getattr(_threads, "kept", None)
    if kept is None:
        kept = _threads.kept = {}
    found = kept.get(network)
    if found is None or found.is_large:
        found = kept[network] = Lookahead(network)
    return found
