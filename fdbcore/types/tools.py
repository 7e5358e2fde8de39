"""Tools that a system may call, its calls, and their results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

CallStage: TypeAlias = Literal["begun", "complete", "cancelled"]
ResultStatus: TypeAlias = Literal["ok", "unknown", "malformed", "error", "timeout", "ended"]

MOST_RESULT_BYTES: Final = 256 * 1024
"""The longest result of a call, as JSON."""

TOOL_CALL: Final = "tool_call"
"""The kind of an event in which a party begins, completes or cancels a call of a tool; its field `stage` says which."""
TOOL_RESULT: Final = "tool_result"
"""The kind of an event in which a call of a tool ends; its field `status` says how."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a system may call. parameters: the JSON Schema (2020-12) of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A step in a party's call of a tool.

    stage: "begun" (its name is known), "complete" (its arguments too), or "cancelled" (its result is no longer wanted).
    A party that learns name and arguments at once leaves out "begun". id: the party's own name for the call, different
    for each call. arguments: of a complete call: a JSON value; the text that the party sent if that holds none.
    """

    stage: CallStage
    id: str
    name: str = ""
    arguments: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call of a tool.

    status: "ok"; "unknown" (there is no such tool), "malformed" (the arguments are not JSON, or do not fit the schema),
    "error" (the tool failed), "timeout" (it took too long), or "ended" (the conversation was over before the result was
    due; the party does not get it). value: the JSON value that the tool gave; if the status is not "ok", what was
    wrong, as a text.
    """

    id: str
    name: str
    status: ResultStatus
    value: Any = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values; `value` is called "result", or "error" if the status is not "ok"."""
        kind = "result" if self.status == "ok" else "error"
        return {"id": self.id, "name": self.name, "status": self.status, kind: self.value}
