"""The part of Python that scripts are written in: each other construct, with what to write in its place."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

from sateen.tensor_ir.hybrid.source import Source

_TAKEN = (
    ast.Add, ast.And, ast.Assert, ast.Assign, ast.Attribute, ast.AugAssign, ast.BinOp, ast.BitAnd, ast.BitOr,
    ast.BitXor, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Eq, ast.Expr, ast.FloorDiv, ast.For,
    ast.Gt, ast.GtE, ast.If, ast.IfExp, ast.In, ast.Invert, ast.Is, ast.IsNot, ast.LShift, ast.List, ast.Load, ast.Lt,
    ast.LtE, ast.Mod, ast.Mult, ast.Name, ast.Not, ast.NotEq, ast.NotIn, ast.Or, ast.Pass, ast.Pow, ast.RShift,
    ast.Return, ast.Store, ast.Sub, ast.Subscript, ast.Tuple, ast.UAdd, ast.USub, ast.UnaryOp, ast.While, ast.Div,
    ast.keyword,
)  # fmt: skip

_REMEDIES: Mapping[type[ast.AST], tuple[str, str]] = MappingProxyType({
    ast.AnnAssign: ("an annotation", "convert the value: x = float32(0)"),
    ast.AsyncFor: ("async", "use for"),
    ast.AsyncWith: ("async", "use for"),
    ast.Await: ("await", "compute the value"),
    ast.Break: ("break", "use while with a condition, or if"),
    ast.ClassDef: ("a class", "define it outside"),
    ast.Continue: ("continue", "put the rest of the loop under an if"),
    ast.Delete: ("del", "leave the name: it ends with its block"),
    ast.Dict: ("a dictionary", "define it outside"),
    ast.DictComp: ("a comprehension", "use a loop"),
    ast.FunctionDef: ("a function", "define it outside, as a script or a function of expressions"),
    ast.AsyncFunctionDef: ("a function", "define it outside, as a script or a function of expressions"),
    ast.GeneratorExp: ("a comprehension", "use a loop"),
    ast.Global: ("global", "give the value as an argument"),
    ast.Import: ("an import", "import at the top of the file"),
    ast.ImportFrom: ("an import", "import at the top of the file"),
    ast.JoinedStr: ("a formatted text", "use a plain text"),
    ast.Lambda: ("a lambda", "define a function outside"),
    ast.ListComp: ("a comprehension", "use a loop"),
    ast.MatMult: ("'@'", "write the loops of the product"),
    ast.Match: ("match", "use if and elif"),
    ast.NamedExpr: ("':='", "assign before"),
    ast.Nonlocal: ("nonlocal", "give the value as an argument"),
    ast.Raise: ("raise", "use assert for what is known when the script is called"),
    ast.Set: ("a set", "define it outside"),
    ast.SetComp: ("a comprehension", "use a loop"),
    ast.Slice: ("a slice", "use a loop over the elements"),
    ast.Starred: ("'*'", "name each item"),
    ast.Try: ("try", "test with if before"),
    ast.With: ("with", "write its lines without it"),
    ast.Yield: ("yield", "write to an output_tensor"),
    ast.YieldFrom: ("yield", "write to an output_tensor"),
})  # fmt: skip


def check_subset(source: Source) -> None:
    """Raise ScriptError for the first construct of a script that is outside the subset."""
    definition = source.definition
    if definition.args.kwarg is not None:
        raise source.fault(definition.args.kwarg, "a script expects parameters with names, found '**'; name each")
    last = definition.body[-1]
    for statement in definition.body:
        _check(source, statement, definition, last)


def _check(source: Source, node: ast.AST, parent: ast.AST, last: ast.stmt) -> None:
    if not isinstance(node, _TAKEN):
        what, remedy = _REMEDIES.get(type(node), (type(node).__name__, "write it with other constructs"))
        place = node if hasattr(node, "lineno") else parent
        raise source.fault(place, f"a script has no {what.removeprefix('an ').removeprefix('a ')}; {remedy}")
    if isinstance(node, (ast.For, ast.While)) and node.orelse:
        raise source.fault(node.orelse[0], "a script has no else of a loop; put these lines after the loop")
    if isinstance(node, ast.Return) and node is not last:
        raise source.fault(node, "a script returns once, in its last line; assign in branches, and return there")
    if isinstance(node, ast.keyword) and node.arg is None:
        raise source.fault(node, "a script has no '**'; name each argument")
    if isinstance(node, ast.AugAssign) and not isinstance(node.target, (ast.Name, ast.Subscript)):
        raise source.fault(node.target, "a script assigns to names and elements, found an attribute; use a name")
    if isinstance(node, (ast.Assign, ast.For)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            _check_target(source, target, may_be_element=isinstance(node, ast.Assign))
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call) and not _is_text(node.value):
        raise source.fault(node, "a script computes a value here that nothing uses; assign it")
    for child in ast.iter_child_nodes(node):
        _check(source, child, node, last)


def _check_target(source: Source, target: ast.expr, may_be_element: bool) -> None:
    match target:
        case ast.Name():
            return
        case ast.Subscript() if may_be_element:
            return
        case ast.Tuple() | ast.List() if may_be_element:
            for item in target.elts:
                _check_target(source, item, may_be_element)
        case ast.Starred():
            raise source.fault(target, "a script has no '*'; name each item")
        case _ if may_be_element:
            raise source.fault(target, "a script assigns to names and elements, found an attribute; use a name")
        case _:
            raise source.fault(target, "a loop of a script expects one name as its variable; assign the others in it")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
