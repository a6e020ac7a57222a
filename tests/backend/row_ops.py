"""Which of our ops the conversion of a foreign operator may use, read from the source of its row.

A row is a function, often one inside a function that was given the name of an op. What counts: names of ops that a call
gets by position, in the row and in whatever helpers of the converter it calls, and methods of the builder that are
named like ops.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from microlith import ops

READERS = frozenset(("node", "op", "proto"))
"""Names that rows give to the foreign operator; the text that its getters get is no op."""

BUILDING = frozenset(("add", "add_all"))
"""Methods that get the name of an op."""

NAMED_LIKE_OPS = frozenset(("cast", "reshape", "transpose"))
"""Methods of the builders that add one op."""


@functools.cache
def _op_names() -> frozenset[str]:
    return frozenset(opdef.name for opdef in ops.all_ops())


def ops_of(row: Callable[..., Any]) -> list[str]:
    """The names of the ops, sorted."""
    found: set[str] = set()
    waiting: list[Any] = [row]
    seen: set[Any] = set()
    while waiting:
        function = inspect.unwrap(waiting.pop())
        if function in seen or not inspect.isfunction(function):
            continue
        seen.add(function)
        if not function.__module__.startswith("microlith.converter.frontends"):
            continue
        names = _names(function)
        for item in _called(_tree(function)):
            if isinstance(item, str):
                found.add(item)
            elif isinstance(item, ast.Attribute):
                waiting.extend(_functions(_of_module(item, names)))
            elif item.id in names:
                found |= set(_op_names().intersection(_texts(names[item.id])))
                waiting.extend(_functions(names[item.id]))
        for cell in function.__closure__ or ():
            found |= set(_op_names().intersection(_texts(cell.cell_contents)))
    return sorted(found)


def _of_module(item: ast.Attribute, names: dict[str, Any]) -> Any:
    """What stands in another module under a name; None for what is no name in a module."""
    owner = names.get(item.value.id) if isinstance(item.value, ast.Name) else None
    return getattr(owner, item.attr, None) if inspect.ismodule(owner) else None


@functools.cache
def _tree(function: Callable[..., Any]) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _names(function: Any) -> dict[str, Any]:
    """What the free names of a function stand for: those of its closure, and helpers of its module."""
    closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    names = {name: cell.cell_contents for name, cell in closure}
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            names.setdefault(name, function.__globals__[name])
    return names


def _global_names(code: CodeType) -> Iterator[str]:
    """The names that code and the comprehensions in it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _called(tree: ast.AST) -> Iterator[Any]:
    """Names of ops among the arguments of calls, and the names that are called or passed on, in other modules too."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        owner = call.func.value.id if method and isinstance(call.func.value, ast.Name) else ""
        if isinstance(call.func, ast.Name) or (owner and not call.func.attr.startswith("_")):
            yield call.func
        if owner in ("g", "self", "node") and method in NAMED_LIKE_OPS:
            yield method
        if owner in READERS and method not in BUILDING:
            continue
        for argument in call.args:
            for item in _alternatives(argument):
                if isinstance(item, ast.Constant) and item.value in _op_names():
                    yield item.value
                elif isinstance(item, ast.Name):
                    yield item
                elif isinstance(item, ast.Subscript) and isinstance(item.value, ast.Name):
                    yield item.value


def _alternatives(argument: ast.expr) -> Iterator[ast.expr]:
    if isinstance(argument, ast.IfExp):
        yield from _alternatives(argument.body)
        yield from _alternatives(argument.orelse)
    else:
        yield argument


def _texts(value: Any) -> Iterator[str]:
    """The text in a name, or in a table of names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item)


def _functions(value: Any) -> Iterator[Any]:
    if inspect.isfunction(value):
        yield value
