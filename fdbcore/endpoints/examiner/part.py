"""Prompts of a live party that plays side A: its part and its goals, the tool that reports them, and directions."""

from typing import Final

from fdbcore.endpoints.examiner.brief import Brief
from fdbcore.types.tools import Tool

REPORT: Final = Tool(
    "report_goal",
    "Report that the goal which you pursue is over. Call this before you say anything else. The result tells you what "
    "comes next.",
    {
        "type": "object",
        "properties": {
            "goal": {"type": "integer", "description": "The number of the goal."},
            "met": {"type": "boolean", "description": "Whether it is met."},
            "reason": {"type": "string", "description": "What the other side said, in a few words."},
        },
        "required": ["goal", "met", "reason"],
    },
)

OPENING: Final = "(Direction: the call has begun. Speak first. Pursue goal 1.)"
ANSWER: Final = "(Direction: the other side has finished. It is your turn.)"
NO_ANSWER: Final = "(Direction: the other side says nothing. Say it once more, in other words.)"
BREAK_IN: Final = "(Direction: the other side talks on and on. Break in now, with one short sentence for your goal.)"

_RULES: Final = (
    "Pursue the goals one after the other, from goal 1. Do not speak of a later goal, and do not hint at it, before "
    "the one that you pursue is over.",
    "A goal tells you what you want, not the words for it. Say it as this person would on the phone, in one or two "
    "short sentences, and then wait for the answer.",
    "Listen to what the other side says. Answer its questions as this person would. If it misunderstands you, or "
    "forgets something, say so in your own words.",
    f"As soon as a goal is met, call {REPORT.name} with met=true, before you say anything else. If you have put it "
    "{wordings} times in vain, each time in other words, call it with met=false.",
    "Texts in round brackets that begin with 'Direction' come from the director of this call. Follow them; never "
    "read them aloud or answer them.",
    "Stay this person to the end. You are never the assistant: do not offer help, and do not speak of goals, tools, "
    "directions or a test.",
)


def instructions_of(brief: Brief, wordings: int) -> str:
    """The party's instructions before the call. wordings: how often it puts a goal at most."""
    goals = [
        f"Goal {number}: {goal.goal}"
        + (f" It is met when this holds: {goal.met}" if goal.met else "")
        + (f" Speak in the language '{goal.language}' for it." if goal.language != brief.language else "")
        for number, goal in enumerate(brief.goals, 1)
    ]
    rules = [f"- {rule.format(wordings=wordings)}" for rule in _RULES]
    return "\n".join(
        [
            "You play a person who talks on the phone to a voice assistant. The other side is the assistant.",
            f"Who you are: {brief.role}",
            *([f"What you know: {brief.background}"] if brief.background else []),
            f"Speak only the language '{brief.language}' (ISO 639-1).",
            "",
            "What you want:",
            *goals,
            "",
            "How you do it:",
            *rules,
            f"- Once no goal is left, and not before, say exactly this and nothing more: {brief.closing}",
        ]
    )


def after_report(brief: Brief, number: int) -> str:
    """The direction once a goal is over. number: of the goal that is pursued then, from 1; none may be left."""
    if number > len(brief.goals):
        return f"No goal is left. {closing_only(brief)}"
    return f"Pursue goal {number} now: {brief.goals[number - 1].goal}"


def closing_only(brief: Brief) -> str:
    """The request for the closing statement."""
    return f"Say exactly this and nothing more: {brief.closing}"


def ending(brief: Brief) -> str:
    """The direction to end the call, whatever goals are left."""
    return f"(Direction: the call ends now. {closing_only(brief)})"
