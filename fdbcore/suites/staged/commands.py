"""`fdbcore scenarios`: lists, shows, checks and imports scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fdbcore.protocols import Command, Console
from fdbcore.types import Option


def _validate(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore.suites.staged.checks import by_reason, lacks
    from fdbcore.suites.staged.likeness import near_duplicates
    from fdbcore.suites.staged.reading import look_at
    from fdbcore.suites.staged.screen import summary

    found, faults = look_at(options["file"])
    for fault in faults:
        console.complain(f"{fault.where}: {fault.reason}")
    known = [scenario for scenario in found.scenarios if scenario.family in found.families]
    lacking = [(each.id, reason) for each in known for reason in lacks(each, found.families[each.family])]
    for line in by_reason(lacking):
        console.complain(f"warning: {line}")
    for first, second, share in near_duplicates(found.scenarios):
        alike = f"{first.id} and {second.id} ({first.language})"
        console.complain(f"warning: {alike}: near-duplicates: {share:.0%} of the word sequences of the shorter one")
    console.say(summary(found.scenarios, len(faults)))
    return not faults


COMMANDS: Final = (
    Command(
        "validate",
        """Check files of scenarios: a line for each fault, and exit code 1 if there is one.

        FILE is a file, a folder of files, builtin or builtin-ja. Warnings name scenarios that are much alike, and what
        scenarios lack that not everybody needs.

        Example: fdbcore scenarios validate builtin
        """,
        (Option("FILE", several=True, required=True),),
        _validate,
        group="scenarios",
    ),
)
