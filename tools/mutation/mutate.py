"""Small mistakes in Python source, one at a time, each a change that a person could make by accident.

Published tools were tried first. mutmut leaves decorated functions alone and forks a process that has started JAX's
threads; cosmic-ray runs the same tests for every change. Neither swaps ``max`` and ``min``, or ``all`` and ``any``,
which is where array code goes wrong.
"""

import ast
import itertools
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

__all__ = ["Mutant", "mutants"]

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "fmax": "fmin",
    "fmin": "fmax",
    "argmax": "argmin",
    "argmin": "argmax",
    "nanargmax": "nanargmin",
    "nanargmin": "nanargmax",
    "idxmax": "idxmin",
    "idxmin": "idxmax",
    "all": "any",
    "any": "all",
    "mean": "sum",
    "sum": "mean",
    "log": "log1p",
    "log1p": "log",
    "zeros": "ones",
    "ones": "zeros",
    "zeros_like": "ones_like",
    "ones_like": "zeros_like",
    "floor": "ceil",
    "ceil": "floor",
    "std": "var",
    "var": "std",
    "xlogy": "xlog1py",
    "xlog1py": "xlogy",
}
"""Functions and methods that are easily taken for each other."""

KEPT_DECORATORS = {
    "property",
    "cached_property",
    "staticmethod",
    "classmethod",
    "abstractmethod",
    "overload",
    "fixture",
}
"""Decorators without which nothing runs."""

WORDING = {"warn", "ValueError", "TypeError", "NotImplementedError", "wrap"}
"""Calls whose arguments are text for people."""

LOOKS = {
    "alpha",
    "bbox_to_anchor",
    "capsize",
    "figsize",
    "fontsize",
    "frameon",
    "handlelength",
    "height_ratios",
    "labelsize",
    "linewidth",
    "markersize",
    "ncols",
    "row_height",
    "s",
    "zorder",
}
"""Arguments of matplotlib that change how large, bold or faint something is and not what a figure says."""


@dataclass(frozen=True)
class Mutant:
    """A change of a source file.

    Attributes
    ----------
    line : int
        First line that changes, from one.
    before, after : str
        The changed piece of source.
    source : str
        The whole file with the change.
    """

    line: int
    before: str
    after: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of the source."""
    lines = source.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]

    def position(row: int, column: int) -> int:
        # ast counts columns in bytes.
        return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

    for node in _nodes(ast.parse(source)):
        for changed in _changes(node):
            begin, end = position(node.lineno, node.col_offset), position(node.end_lineno, node.end_col_offset)
            after = ast.unparse(changed)
            put = f"({after})" if isinstance(node, ast.expr) else after
            if isinstance(node, ast.FunctionDef):  # loses a decorator
                begin, end = starts[changed.lineno - 1], starts[changed.end_lineno]
                after, put = "nothing", ""
            mutated = source[:begin] + put + source[end:]
            yield Mutant(source.count("\n", 0, begin) + 1, source[begin:end].strip(), after, mutated)


def _nodes(node: ast.AST) -> Iterator[Any]:
    """Nodes whose change changes what is computed, not what is said or declared."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_wording(child) or _is_type(child, node):
                continue
            if isinstance(child, ast.keyword) and (child.arg in LOOKS or _only_checks(child)):
                continue
            if isinstance(child, ast.Dict):
                yield from _of_dict(child)
                continue
            yield child
            if not (_is_reshape(node) and isinstance(child, ast.UnaryOp)):  # any negative number means -1 there
                yield from _nodes(child)


def _is_reshape(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reshape"


def _of_dict(node: ast.Dict) -> Iterator[Any]:
    """Nodes of a display of a dictionary, which may hold arguments of matplotlib."""
    for key, value in zip(node.keys, node.values, strict=True):
        if not (isinstance(key, ast.Constant) and key.value in LOOKS):
            part = ast.Dict([key], [value])
            yield from _nodes(part)


def _only_checks(node: ast.keyword) -> bool:
    """Whether it is the ``strict=True`` of ``zip``, which changes nothing unless something else is wrong."""
    return node.arg == "strict" and isinstance(node.value, ast.Constant) and node.value.value is True


def _is_type(node: ast.AST, parent: ast.AST) -> bool:
    """Whether it is a union of types, which is declared or which ``isinstance`` takes."""
    takes = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "isinstance"
    return isinstance(node, ast.TypeAlias) or (takes and isinstance(node, ast.BinOp))


def _is_wording(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr | ast.Raise):
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORDING


def _changes(node: ast.AST) -> Iterator[Any]:
    """What may take the place of a node; of a function, a decorator that it loses."""
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            changed = deepcopy(node)
            changed.ops[i] = COMPARISONS[type(operator)]()
            yield changed
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in NAMES:
        yield ast.Name(NAMES[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in NAMES:
        yield ast.Attribute(node.value, NAMES[node.attr], node.ctx)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.FunctionDef):
        yield from (decorator for decorator in node.decorator_list if _may_go(decorator))


def _other_constants(node: ast.Constant) -> Iterator[ast.Constant]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, float):
        yield ast.Constant(node.value * 2 or 1.0)


def _may_go(decorator: ast.expr) -> bool:
    names = {part.id for part in ast.walk(decorator) if isinstance(part, ast.Name)}
    names |= {part.attr for part in ast.walk(decorator) if isinstance(part, ast.Attribute)}
    return not names & (KEPT_DECORATORS | {"register", "setter", "register_dataclass", "dataclass"})
