"""Small wrong changes to a module, one at a time: what a test suite should notice.

Only bodies of functions are changed, never annotations, texts or defaults. Each mutant is the
whole module with one node changed, written from its syntax tree; comments are lost, nothing else.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Functions = ast.FunctionDef | ast.AsyncFunctionDef
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change, by the line it is made in, and how that part read before and after."""

    line: int
    before: str
    after: str
    source: str


class Mutants:
    """All of a module's, each made when it is asked for by its number."""

    def __init__(self, source: str) -> None:
        self._tree = ast.parse(source)
        places = _places(self._tree)
        self._found = [(number, change) for number, node in places for change in _changes(node)]

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, place: int) -> Mutant:
        number, change = self._found[place]
        copied = copy.deepcopy(self._tree)
        node = list(ast.walk(copied))[number]
        before = ast.unparse(node)
        replacement = change(node)
        _Replace(node, replacement).visit(copied)
        after = ast.unparse(ast.fix_missing_locations(replacement))
        return Mutant(getattr(node, "lineno", 0), before, after, ast.unparse(copied))


Change = Callable[[ast.AST], ast.AST]
"""From a node of a copy to what stands in its place."""


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _places(tree: ast.Module) -> Iterator[tuple[int, ast.AST]]:
    """The nodes that may be changed, by their number in `ast.walk`."""
    wanted = {id(node) for each in _functions(tree) for line in each.body for node in _inside(line)}
    yield from ((n, node) for n, node in enumerate(ast.walk(tree)) if id(node) in wanted)


def _functions(tree: ast.Module) -> Iterator[Functions]:
    return (node for node in ast.walk(tree) if isinstance(node, Functions))


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and its parts; not the texts, annotations and imports in it."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Raise):
        return
    yield node
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return  # of −1 the sign is enough
    skipped = {"annotation", "returns", "args", "decorator_list"} if _declares(node) else set()
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and name not in skipped:
                yield from _inside(part)


def _declares(node: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign | ast.ClassDef | Functions)


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        yield _compared
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        yield _computed
    elif isinstance(node, ast.BoolOp):
        yield _joined
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield lambda found: found.operand  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield _another
    elif isinstance(node, ast.AugAssign) or _speaks(node) or _guards(node):
        yield lambda found: ast.copy_location(ast.Pass(), found)  # type: ignore[type-var]


def _speaks(node: ast.AST) -> bool:
    """A call whose result nobody takes; no docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _guards(node: ast.AST) -> bool:
    """An `if` that only leaves: by `return`, `raise` or `continue`."""
    leaving = ast.Return | ast.Raise | ast.Continue
    return isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], leaving)


def _compared(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Compare)
    first = COMPARED[type(node.ops[0])]()
    return ast.copy_location(ast.Compare(node.left, [first, *node.ops[1:]], node.comparators), node)


def _computed(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BinOp)
    return ast.copy_location(ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right), node)


def _joined(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BoolOp)
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return ast.copy_location(ast.BoolOp(other, node.values), node)


def _another(node: ast.AST) -> ast.AST:
    """The other truth, or one more."""
    assert isinstance(node, ast.Constant)
    changed = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
    return ast.copy_location(ast.Constant(changed), node)
