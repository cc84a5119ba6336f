"""Put the code of a changed module in the place of an imported one.

Functions and classes stay the same objects, as other modules have imported them; their
code is replaced. Other values are replaced wherever they have the same name.
"""

from __future__ import annotations
import __future__

import ast
import sys
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any, Final

_FEATURES: Final = __future__.annotations.compiler_flag
_CODE: Final = ("__code__", "__defaults__", "__kwdefaults__")


def patch(name: str, old_text: str, text: str, path: str) -> None:
    """Replace code of an imported module by a text; without effect on others.

    Only statements of the module that differ are run, and values that use theirs.

    Raises: Exception: raised by them.
    """
    module = sys.modules.get(name)
    if module is None:
        return
    names = module.__dict__
    before = dict(names)
    tree = _changed(ast.parse(old_text), ast.parse(text))
    exec(compile(tree, path, "exec", _FEATURES), names)
    for each, old in before.items():
        new = names.get(each)
        if new is old or each.startswith("__"):
            continue
        if _is_own(old, name) and _put_into(old, new):
            names[each] = old
        else:
            _replace_everywhere(each, old, new)


def _changed(old: ast.Module, new: ast.Module) -> ast.Module:
    """Return the statements of a module that another one does not have."""
    known = {ast.dump(each) for each in old.body}
    body: list[ast.stmt] = []
    names: set[str] = set()
    for each in new.body:
        is_value = isinstance(each, ast.Assign | ast.AnnAssign)
        used = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)}
        if ast.dump(each) not in known or (is_value and used & names):
            body.append(each)
            if is_value:
                names |= {
                    node.id
                    for node in ast.walk(each)
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                }
    return ast.Module(body, [])


def _is_own(value: Any, name: str) -> bool:
    return getattr(value, "__module__", None) == name


def _put_into(old: Any, new: Any) -> bool:
    """Put the code of a function or class into another; return whether it fits."""
    for kind in (staticmethod, classmethod):
        if isinstance(old, kind) and isinstance(new, kind):
            return _put_into(old.__func__, new.__func__)
    if isinstance(old, property) and isinstance(new, property):
        return _put_into(old.fget, new.fget)
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        return _put_code(old, new)
    if isinstance(old, type) and isinstance(new, type):
        for each, value in [*new.__dict__.items()]:
            if each in old.__dict__ and not _put_into(old.__dict__[each], value):
                _put_attribute(old, each, value)
        return True
    return False


def _put_code(old: FunctionType, new: FunctionType) -> bool:
    """Put the code of a function into another, and the values that it encloses.

    So it is with `__init__` of a dataclass, which has its defaults there.
    """
    names = old.__code__.co_freevars
    if names != new.__code__.co_freevars or "__class__" in names:
        return False
    for mine, other in zip(old.__closure__ or (), new.__closure__ or (), strict=True):
        mine.cell_contents = other.cell_contents
    for part in _CODE:
        setattr(old, part, getattr(new, part))
    return True


def _put_attribute(owner: type, name: str, value: Any) -> None:
    is_plain = not issubclass(owner, Enum) and isinstance(
        value, int | float | str | bytes | tuple | frozenset | dict
    )
    if not name.startswith("__") and is_plain:
        setattr(owner, name, value)


def _replace_everywhere(name: str, old: Any, new: Any) -> None:
    for module in [*sys.modules.values()]:
        if isinstance(module, ModuleType) and module.__dict__.get(name) is old:
            setattr(module, name, new)
