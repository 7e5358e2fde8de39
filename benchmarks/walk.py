"""Walk the calls from a function, in their order, to see how often a reader changes rooms.

    python -m benchmarks.walk fdbcore.runs.replay:replay_session:session

MODULE:FUNCTION:PARAMETER follows a parameter: into each function that it, or what is read from it (an attribute, an
element), is passed to, and into its methods. What a call returns is other data. MODULE:FUNCTION goes into every call.
All is read from the source: names by imports, methods by annotations (the first class of ours that one names). All
branches count, in the order of the text. Callbacks, properties and other packages are not seen. A function is walked at
its first call; a reader knows it at later ones.

stay: functions of one module, one after another. entered: how many stays a module has. room: a package of fdbcore.
climb (^): a stay in a room above that of the last stay: in a higher row of the picture in docs/architecture.md.
"""

# ruff: noqa: ANN401 - nodes of several kinds
from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from functools import cache
from importlib.util import resolve_name
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
FILES: Final = {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in ROOT.glob("fdbcore/**/*.py")}
CLI: Final = {f"fdbcore.cli.{file.stem}": file for file in ROOT.glob("cli/*.py")}
STUBS: Final = ("", "i")  # a package's own code, and the stub that lists what it gives to others
TREES: Final = {
    module: ast.parse("".join(path.read_text("utf-8") for end in STUBS if (path := Path(f"{file}{end}")).is_file()))
    for module, file in (FILES | CLI).items()
}


class Code(NamedTuple):
    """A module, a class (or an object of it) or a function. owner: the class of a method's object."""

    module: str
    node: Any
    owner: Code | None = None


@cache
def look(module: str, name: str) -> Code | None:
    """What a name of a module means, if it is of fdbcore."""
    module = module if module in TREES else f"{module}.__init__"
    node: Any
    for node in ast.walk(TREES.get(module, ast.Pass())):
        if isinstance(node, (*FUNCTION, ast.ClassDef)) and node.name == name and node in TREES[module].body:
            return Code(module, node)
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if name == (alias.asname or alias.name):
                source = resolve_name("." * node.level + (node.module or ""), module.rpartition(".")[0])
                whole = f"{source}.{alias.name}"
                return Code(whole, TREES[whole]) if whole in TREES else look(source, alias.name)
    return None


def class_named(module: str, annotation: Any) -> Code | None:
    found = [look(module, name) for name in re.findall(r"\w+", ast.unparse(annotation or ast.Pass()))]
    return next((code for code in found if code and isinstance(code.node, ast.ClassDef)), None)


def member(owner: Code, name: str) -> Code | None:
    """A method of a class or its bases, or the class of an attribute."""
    for node in ast.walk(owner.node):
        if isinstance(node, FUNCTION) and node.name == name:
            is_read = any("property" in ast.unparse(mark) for mark in node.decorator_list)
            return class_named(owner.module, node.returns) if is_read else Code(owner.module, node, owner)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in (name, f"self.{name}"):
            return class_named(owner.module, node.annotation)
    bases = [class_named(owner.module, base) for base in owner.node.bases]
    return next((found for base in bases if base and (found := member(base, name))), None)


def _named(code: Code) -> list[ast.arg]:
    return [*code.node.args.args, *code.node.args.kwonlyargs]


def walk(code: Code, data: set[str] | None, seen: dict[Any, str]) -> None:
    """Walk one function. data: the names of what is followed; None: all. seen: the functions, and their modules."""
    seen[code.node] = code.module
    kinds = {one.arg: class_named(code.module, one.annotation) for one in _named(code)} | {"self": code.owner}

    def kind(node: Any) -> Code | None:
        """The module, class or function that an expression is, or the class of its value."""
        if isinstance(node, ast.Name):
            return kinds.get(node.id) or look(code.module, node.id)
        if isinstance(node, ast.Attribute) and (of := kind(node.value)):
            return member(of, node.attr) if isinstance(of.node, ast.ClassDef) else look(of.module, node.attr)
        if isinstance(node, ast.Call) and (of := kind(node.func)) and isinstance(of.node, FUNCTION):
            return class_named(of.module, of.node.returns) or of.owner
        parts = [kind(getattr(node, name, None)) for name in ("func", "value", "body") if isinstance(node, ast.expr)]
        return next(filter(None, parts), None)

    def carries(node: Any) -> bool:
        if data is None or isinstance(node, ast.Name):
            return data is None or node.id in data
        return not isinstance(node, (ast.Call, ast.Lambda)) and any(map(carries, ast.iter_child_nodes(node)))

    def visit(node: Any) -> None:
        value = next((getattr(node, name) for name in ("iter", "context_expr", "value") if hasattr(node, name)), None)
        target = getattr(node, "target", getattr(node, "optional_vars", getattr(node, "targets", [None])[0]))
        for child in sorted(ast.iter_child_nodes(node), key=lambda one: (one is not value, not hasattr(one, "ifs"))):
            if not isinstance(child, (*FUNCTION, ast.ClassDef, ast.Lambda)):
                visit(child)
            if child is value and target:
                kinds.update({target.id: kind(value)} if isinstance(target, ast.Name) else {})
                if data is not None and carries(value):
                    data.update(one.id for one in ast.walk(target) if isinstance(one, ast.Name))
        called = kind(node.func) if isinstance(node, ast.Call) else None
        if called and isinstance(called.node, ast.ClassDef):
            called = member(called, "__call__" if ast.unparse(node.func) in kinds else "__init__")
        if called and isinstance(called.node, FUNCTION) and called.node not in seen:
            given = [*([getattr(node.func, "value", node.func)] if called.owner else []), *node.args]
            got = {one.arg for one, value in zip(called.node.args.args, given, strict=False) if carries(value)}
            got |= {one.arg for one in node.keywords if carries(one.value)}
            if got or data is None:
                walk(called, got if data is not None else None, seen)

    for statement in code.node.body:
        visit(statement)


def height(room: str) -> int:
    """The row of a room in the picture, from below; 0 for modules beside the rooms."""
    said = ast.get_docstring(TREES.get(f"fdbcore.{room}.__init__", ast.Module([], []))) or ""
    named = [name for names in re.findall(r"May import: ([^.]*)", said) for name in names.split(", ")]
    return len(TREES) if "all others" in named else max((height(one) + 1 for one in named), default=0)


def main(start: str) -> None:
    seen: dict[Any, str] = {}
    module, function, parameter = [*start.split(":"), "", ""][:3]
    code = look(module, function)
    if code is None or not isinstance(code.node, FUNCTION) or parameter not in ("", *(one.arg for one in _named(code))):
        raise SystemExit(f"{start!r}: expected MODULE:FUNCTION or MODULE:FUNCTION:PARAMETER of fdbcore")
    walk(code, {parameter} if parameter else None, seen)
    entered, climbs, last = Counter[str](), 0, len(TREES)
    for module, functions in groupby(seen, key=lambda one: seen[one].removesuffix(".__init__")):
        climbs += (is_climb := last < (last := height(module.split(".")[1])))
        entered[module] += 1
        print("^" if is_climb else " ", module, *(one.name for one in functions))
    rooms = {module.split(".")[1] for module in entered}
    print(f"{entered.total()} stays in {len(entered)} modules of {len(rooms)} rooms, {climbs} climbs; entered most:")
    print(", ".join(f"{module} {times} times" for module, times in entered.most_common(5)))


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
