"""`fdbcore scenarios`: lists, shows, checks and imports scenarios."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET, to_builtins

from fdbcore.errors import InputError, SettingsError, nearest
from fdbcore.protocols.suite import Console
from fdbcore.report import filled
from fdbcore.runtime import whole_file
from fdbcore.suites.staged.scenario_files import (
    BUILTIN,
    UNSPACED,
    ScenarioSet,
    by_reason,
    import_released,
    lacks,
    look_at,
    near_duplicates,
    read_set,
    toml_text,
)
from fdbcore.suites.staged.scenarios import LEVELS, Family, Scenario, StagedGoal

MOST_COLUMNS: Final = 100
_LABEL_COLUMNS = 12


def list_scenarios(options: Mapping[str, Any], console: Console) -> bool:
    """The scenarios, a line each, or as JSON."""
    found = _chosen(options)
    if options["family"] is not None:
        _check("--family", options["family"], [scenario.family for scenario in found.scenarios])
        found = found.only(lambda scenario: scenario.family == options["family"])
    if options["json"]:
        console.say(_json(found))
    else:
        console.say(f"{table(found.scenarios)}\n\n{summary(found.scenarios)}")
    return True


def show_scenario(options: Mapping[str, Any], console: Console) -> bool:
    """One scenario, in each of its languages."""
    found = _chosen(options)
    ids = [scenario.id for scenario in found.scenarios]
    if options["id"] not in ids:
        near = nearest(options["id"], ids)
        raise InputError(f"expected the id of a scenario (fdbcore scenarios list), got {options['id']!r}{near}")
    found = found.only(lambda scenario: scenario.id == options["id"])
    columns = min(shutil.get_terminal_size((MOST_COLUMNS, 24)).columns, MOST_COLUMNS)
    texts = [shown(each, found.families[each.family], columns) for each in found.scenarios]
    console.say(_json(found) if options["json"] else "\n\n".join(texts))
    return True


def _chosen(options: Mapping[str, Any]) -> ScenarioSet:
    """The sets that the user named, with the scenarios in the language that the user named."""
    found = read_set(*(options["scenarios"] or (BUILTIN if options["language"] else ("builtin",))))
    if options["language"] is None:
        return found
    _check("--language", options["language"], [scenario.language for scenario in found.scenarios])
    return found.only(lambda scenario: scenario.language == options["language"])


def _check(flag: str, value: str, there: list[str]) -> None:
    if value not in there:
        raise SettingsError(f"{flag}: expected one of {', '.join(dict.fromkeys(there))}, got {value!r}")


def _json(found: ScenarioSet) -> str:
    return json.dumps(found.to_json(), ensure_ascii=False, indent=1)


def validate(options: Mapping[str, Any], console: Console) -> bool:
    """A line for each fault and each warning; whether there is no fault."""
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


def import_file(options: Mapping[str, Any], console: Console) -> bool:
    """The released scenarios as a file of ours."""
    out: Path = options["out"]
    if out.exists():
        raise SettingsError(f"--out {out}: expected a new file, got one that exists")
    content = import_released(options["path"])
    with whole_file(out) as file:
        file.write(toml_text(to_builtins(content)).encode())
    console.say(f"{summary(read_set(str(out)).scenarios)}\ncredit: {content.credit}\n{out}")
    return True


def table(scenarios: Sequence[Scenario]) -> str:
    """A line a scenario: family, class, id, title, and the languages where A changes between them."""
    rows = [
        ("family", "class", "id", "title"),
        *((each.family, each.class_, each.id, _title(each)) for each in scenarios),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return "\n".join("  ".join([*map(str.ljust, row, widths), row[-1]]) for row in rows)


def _title(scenario: Scenario) -> str:
    changes = f" ({', '.join(scenario.languages)})" if len(scenario.languages) > 1 else ""
    return f"{scenario.title}{changes}"


def summary(scenarios: Sequence[Scenario], n_faults: int = 0) -> str:
    """Counts of scenarios, by family and language."""
    families = Counter(scenario.family for scenario in scenarios)
    languages = Counter(scenario.language for scenario in scenarios)
    parts = [f"{count} {name}" for name, count in families.items()]
    if len(languages) > 1:
        parts += [f"{count} in {name}" for name, count in languages.items()]
    if changing := sum(len(scenario.languages) > 1 for scenario in scenarios):
        parts.append(f"{changing} with a change of language")
    if n_faults:
        parts.append(f"{n_faults} fault{'s' if n_faults > 1 else ''}")
    plural = "" if len(scenarios) == 1 else "s"
    return f"{len(scenarios)} scenario{plural}{': ' if parts else ''}{', '.join(parts)}"


def shown(scenario: Scenario, family: Family, columns: int) -> str:
    """One scenario, for readers, in lines of at most `columns` cells."""
    lines = [
        f"{scenario.id}: {scenario.title}",
        f"{family.title}, {family.class_titles[scenario.class_].lower()}; {', '.join(scenario.languages)}",
        "",
        _labelled("who", scenario.role, columns),
        *([_labelled("knows", scenario.background, columns)] if scenario.background else []),
    ]
    for number, goal in enumerate(scenario.goals, 1):
        language = f" [{goal.language}]" if goal.language not in ("", scenario.language) else ""
        lines += ["", _wrapped(f"{number}. ", f"{goal.goal}{language}", columns)]
        lines += [_labelled(label, text, columns) for label, text in _texts(goal)]
    lines.append("")
    lines += [_labelled(label, text, columns) for label, text in _about(scenario, family)]
    return "\n".join(lines)


def _texts(goal: StagedGoal) -> Iterator[tuple[str, str]]:
    if goal.say:
        yield "says", f"“{goal.say}”"
    yield from (("or", f"“{text}”") for text in goal.rephrase)
    if goal.probe:
        yield "asks", f"“{goal.probe}”"
    if goal.met:
        yield "met if", goal.met
    if goal.heard:
        yield "heard", "; and ".join(" / ".join(group) for group in goal.heard)
    if goal.pairs:
        yield "pairs", "; and ".join(" with ".join(" / ".join(group) for group in pair) for pair in goal.pairs)
    if goal.unless:
        yield "unless", " / ".join(goal.unless)


def _about(scenario: Scenario, family: Family) -> Iterator[tuple[str, str]]:
    for each in scenario.corrections:
        change = f": {each.before} → {each.after}" if each.before and each.after else ""
        what = "itself" if each.of == each.stage else f"goal {each.of}"
        yield "corrects", f"goal {each.stage} corrects {what}{change}"
    for of in scenario.references:
        yield "refers", f"goal {of.stage}, by {of.kind}: “{of.says}” means {of.means}"
    if scenario.safety is not UNSET:
        yield "boundary", scenario.safety.boundary
        yield "instead", ", ".join(scenario.safety.alternatives)
    yield "last words", f"“{scenario.last_words}”"
    yield "limits", f"{scenario.limits.turns} turns of A, {scenario.limits.max_s:g} s"
    yield "task score", "none" if family.score is UNSET else f"{family.score.title}, 1 to {LEVELS}"


def _labelled(label: str, text: str, columns: int) -> str:
    return _wrapped(f"   {label:<{_LABEL_COLUMNS}}", text, columns)


def _wrapped(head: str, text: str, columns: int) -> str:
    """`text` after `head`, indented, in lines of `columns` cells. Japanese and Chinese have no spaces to break at."""
    if not UNSPACED.search(text):
        return filled(f"{head}{text}", columns, " " * len(head))
    from rich.cells import chop_cells

    return head + f"\n{' ' * len(head)}".join(line.strip() for line in chop_cells(text, columns - len(head)))
