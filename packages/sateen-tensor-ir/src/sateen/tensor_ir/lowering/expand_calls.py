"""Rewriting of named calls, such as exp(x) or a user's mish(x), into native calls and arithmetic.

Each name has rules, functions from the call to an expression; calls in that expression are rewritten in turn. The
default rules are the formulas of `tensor_ir.functions`. Code generators implement native functions, those of the C
library as `libm.<name>`, and the functions that they keep.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from sateen.runtime.dtype import DType
from sateen.runtime.errors import CodegenError, ExpressionError
from sateen.tensor_ir.arith import Analyzer
from sateen.tensor_ir.functions import FUNCTIONS, Lack, MathFunction, function_of, library_function
from sateen.tensor_ir.functions.function import FLOAT64
from sateen.tensor_ir.ir.expr import Call, Expr
from sateen.tensor_ir.ir.external import is_external
from sateen.tensor_ir.ir.stmt import Evaluate, Stmt, Store
from sateen.tensor_ir.ir.visit import N, SharingRewriter, map_children
from sateen.tensor_ir.lowering.cut_expressions import cut_expressions

Rule = Callable[[Call], Expr | None]
"""From a call to an expression of the same type; None if the rule does not support the call's type."""


def is_native(name: str) -> bool:
    """Whether no rule expands the call: of a native function, of one of the C library, or of an external one."""
    return bool(library_function(name)) or is_external(name) or (name in FUNCTIONS and FUNCTIONS[name].is_native)


@dataclass(frozen=True, slots=True)
class IntrinsicRules:
    """The rules of each name, in the order in which they are tried. A value: `with_rule` makes another one."""

    rules: Mapping[str, tuple[Rule, ...]]

    def with_rule(self, name: str, rule: Rule) -> IntrinsicRules:
        """These rules and `rule`, which is tried first for calls of `name`.

        Raises CodegenError if `name` is native, since native calls have no rules.
        """
        if is_native(name):
            raise CodegenError(f"expected the name of a call that needs a rule, found '{name}', which is native")
        return IntrinsicRules({**self.rules, name: (rule, *self.rules.get(name, ()))})

    def without(self, lacking: Collection[Lack]) -> IntrinsicRules:
        """These rules for a machine that lacks something: functions that need it become arithmetic, or are refused.

        The rules of users are tried before.
        """
        rules = dict(self.rules)
        for lack in lacking:
            for function in FUNCTIONS.values():
                if lack in function.without or (lack is Lack.LIBRARY and function.library):
                    own = rules.get(function.name, ())
                    last = len(own) - len(DEFAULT_RULES.rules.get(function.name, ()))
                    rules[function.name] = (*own[:last], _rule_without(function, lack), *own[last:])
        return IntrinsicRules(rules)

    def unchanged(self, functions: Iterable[MathFunction]) -> frozenset[str]:
        """The names that have only the default rules, so that an emitter may use its own spelling."""
        return frozenset(f.name for f in functions if self.rules.get(f.name) == DEFAULT_RULES.rules.get(f.name))

    def expand(self, e: Call) -> Expr:
        """The result of the first rule that supports the call.

        Raises CodegenError if there is none, or if the result has another type than the call.
        """
        for rule in self.rules.get(e.name, ()):
            result = rule(e)
            if result is None:
                continue
            if result.dtype != e.dtype:
                raise CodegenError(f"expected a rule of '{e.name}' to give {e.dtype}, found {result.dtype}")
            return result
        known = ", ".join(sorted(self.rules))
        raise CodegenError(f"no rule serves the call of '{e.name}' giving {e.dtype}; names with rules are {known}")


DEFAULT_RULES = IntrinsicRules({name: (f.formula,) for name, f in FUNCTIONS.items() if not f.is_native})
"""The formulas of all functions that are not native."""


def _rule_without(function: MathFunction, lack: Lack) -> Rule:
    def rule(e: Call) -> Expr | None:
        formula = function.formula_without(lack, e)
        if formula is None and e.dtype == FLOAT64 and FLOAT64 not in function.formulas and lack is not Lack.FLOAT64:
            raise CodegenError(
                f"expected {function.name} of float32 where there is neither {lack.value} nor a formula of sateen for "
                "it, found float64"
            )
        return formula

    return rule


def expand_calls(statement: Stmt, rules: IntrinsicRules = DEFAULT_RULES, keep: frozenset[str] = frozenset()) -> Stmt:
    """`statement` with every named call rewritten until only native ones and those in `keep` are left.

        y[i] = sigmoid(x[i])   →   y[i] = select(x[i] < 0, d, 1) / (1 + d)   with d for the expansion of exp(-|x[i]|)

    Expressions that become too deep are cut. An expression that is used several times stays one object (a graph, no
    tree), so later passes must remember visited nodes. A call as a statement is for effect and stays; its operands are
    rewritten. Raises CodegenError for a call that no rule supports or that expands into itself, and for operands of
    other types than a function takes.
    """
    return cut_expressions(_Lowering(rules, keep).rewrite(statement), Analyzer())


class _Lowering(SharingRewriter):
    def __init__(self, rules: IntrinsicRules, keep: frozenset[str]) -> None:
        super().__init__()
        self.rules = rules
        self.keep = keep
        self.expanding: list[tuple[str, DType]] = []

    def rewrite(self, node: N) -> N:
        result = super().rewrite(node)
        if isinstance(result, Expr):
            self._done[id(result)] = (result, result)
        return result

    def rewrite_Call(self, e: Call) -> Expr:
        call = self.descend(e)
        if e.name in self.keep or (is_native(e.name) and e.name not in self.rules.rules):
            self._check_types(e)
            return call
        signature = e.name, e.dtype
        if signature in self.expanding:
            raise CodegenError(f"expected the rule of '{e.name}' on {e.dtype} to lead to native calls, found itself")
        self.expanding.append(signature)
        result = self.rewrite(self.rules.expand(call))
        self.expanding.pop()
        return result

    def _check_types(self, e: Call) -> None:
        """Check that a call without rules has the types that its function takes."""
        function = function_of(e.name)
        if function is not None:
            try:
                function.operands.check(e.name, tuple(operand.dtype for operand in e.args))
            except ExpressionError as error:
                raise CodegenError(str(error)) from None

    def rewrite_Store(self, s: Store) -> Stmt:
        try:
            return self.descend(s)
        except CodegenError as error:
            error.add_note(f'in the value of "{s.buffer.name}"' + (f" at {s.span}" if s.span is not None else ""))
            raise

    def rewrite_Evaluate(self, s: Evaluate) -> Stmt:
        value = map_children(s.value, self.rewrite)
        return s if value is s.value else Evaluate(value, s.span)
