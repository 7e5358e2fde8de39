"""The tools of a Python file: its public functions, with schemas from their type hints and docstrings."""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_type_hints

import msgspec

from fdbcore.errors import InputError
from fdbcore.types.tools import Tool
from fdbcore.worlds.runnable import Runnable

_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def functions_in(path: Path) -> dict[str, Runnable]:
    """The functions that a file defines, by name, without those that begin with "_". The file is run.

    InputError if it cannot be run, if it defines no function, or if one lacks a docstring or a type of a parameter.
    """
    module = _loaded(path)
    found = {
        name: runnable(str(path), value)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    if not found:
        raise InputError(f"{path}: expected functions with type hints and docstrings, got none")
    return found


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("fdbcore_tools", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: expected a Python file (.py) or a JSON file (.json)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        raise InputError(f"{where}: {type(error).__name__}: {error}") from error
    return module


def runnable(where: str, function: Callable[..., Any]) -> Runnable:
    """A function or method as a tool. where: the place of the function in messages.

    InputError if it lacks a docstring, or a type of a parameter.
    """
    where = f"{where}: {function.__name__}"
    told = inspect.getdoc(function)
    if not told:
        raise InputError(f"{where}: expected a docstring, which tells the system what it does, got none")
    arguments = _struct(where, function)
    try:
        types = msgspec.json.schema(arguments)["$defs"]
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: expected types that JSON has: {str(error).splitlines()[-1]}") from None
    parameters = types.pop(arguments.__name__)
    del parameters["title"]

    def run(given: Mapping[str, Any]) -> Any:  # noqa: ANN401
        typed = msgspec.convert(given, arguments)
        return function(**{name: getattr(typed, name) for name in arguments.__struct_fields__})

    tool = Tool(function.__name__, told, parameters | ({"$defs": types} if types else {}))
    return Runnable(tool, run, inspect.iscoroutinefunction(function))


def _struct(where: str, function: Callable[..., Any]) -> type[msgspec.Struct]:
    """A type with a field for each parameter. InputError for a parameter without a name or a type."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InputError(f"{where}: expected types that are defined: {error}") from None
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _NAMED or parameter.name not in hints:
            raise InputError(f"{where}: expected parameters with a name and a type, got {str(parameter)!r}")
        default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        fields.append((parameter.name, hints[parameter.name], *default))
    try:
        return msgspec.defstruct(function.__name__, fields, kw_only=True, forbid_unknown_fields=True)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {error}") from None
