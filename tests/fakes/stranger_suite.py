"""A benchmark as another package would bring it: clips on side A, and how often, and how politely, systems answered."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from fakes.plugin import plugin

from fdbcore import registry
from fdbcore.analysis.corpus import Run
from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import InputError
from fdbcore.protocols import Judge, UsesServers
from fdbcore.protocols.suite import Command, Console, Show, SuiteOptions
from fdbcore.results.pooling import ScoredItem
from fdbcore.results.suite import ItemSuite
from fdbcore.runs.plan import users_of
from fdbcore.sources.clips import clips_in
from fdbcore.types import SAMPLE_RATE_HZ, TICKS_PER_S, Material, Option, Problem, Rubric, SideA
from fdbcore.types.scorecard import Measure, Scorecard, ShownItem, SuiteViews
from fdbcore.types.usage import Service


def _name(options: Mapping[str, Any], console: Console) -> bool:
    console.say(f"{options['dir'].name}: {', '.join(clip.name for clip in clips_in(options['dir']))}")
    return True


POLITE: Final = Rubric(
    "polite",
    "How polite is this call, from 1 to 5?",
    {"type": "object", "properties": {"polite": {"type": "integer"}}, "required": ["polite"]},
)


class Strict(Judge):
    """A judge that is no model: whoever answers is polite; it has no opinion of one call."""

    name = "strict:one"

    def score(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        if evidence["call"].endswith("two"):
            raise InputError(f"{self.name}: {rubric.name}: no opinion of {evidence['call']}")
        return {"polite": 5 if evidence["answered"] else 1}

    def services(self) -> Sequence[Service]:
        return [Service("words", "judge.example.com")]

    def describe(self) -> Mapping[str, Any]:
        return {"name": self.name}


def strict(address: str) -> Judge:
    return Strict()


class Views(SuiteViews):
    """A tick for each call, and the least that counts as an answer."""

    def __init__(self, within_s: float) -> None:
        self._within_s = within_s

    def style(self) -> str:
        return ".tick { fill: green; }"

    def legend(self) -> str:
        return "<p>A tick is an answer.</p>"

    def picture(self, case: ShownItem) -> str:
        return f"<svg><title>{case.id}</title></svg>"

    def section(self) -> str:
        return f"<h2>What else</h2><p>{self._within_s} s</p>"


class Answers(ItemSuite):
    """How many clips each system answers in time, and how politely, if somebody judges that."""

    name, schema, title = "answers", "answers/1", "Were the clips answered?"
    measures = (
        Measure(
            "answered", "answered", 1, main=True, pools="share", compared=True, meaning="The system spoke in time."
        ),
        Measure("silent", "not answered", -1),
        Measure("polite", "polite", 1, pools="mean"),
    )
    options = SuiteOptions(
        score=(
            Option("--within-s", "How soon an answer has to come.", kind="count", default=5),
            Option("--judge", "Let this judge mark how polite the calls are.", metavar="JUDGE:NAME"),
        )
    )
    scores_runs = False
    commands = (Command("name", "Name the clips.", (Option("DIR", kind="path", required=True),), _name),)

    def side_a(self, data: str) -> SideA:
        return SideA(users_of(clips_in(data), "tail_s=0.5"), material=Material(self.name, data, {}))

    def asked(self, options: Mapping[str, Any], paths: Sequence[Path] = ()) -> Sequence[UsesServers]:
        return [] if options["judge"] is None else [registry.judge(options["judge"])]

    def items(
        self, paths: Sequence[Path], options: Mapping[str, Any], jobs: int | None, show: Show
    ) -> tuple[Sequence[ScoredItem], Sequence[Problem]]:
        items: list[ScoredItem] = []
        problems: list[Problem] = []
        judge = None if options["judge"] is None else registry.judge(options["judge"])
        for call in (call for path in paths for call in Run(path).calls):
            show(call.name)
            if call.unscored is not None:
                problems.append(Problem(call.name, call.unscored))
                continue
            starts = [each.start_tick for each in call.recording.turn_events if each.kind == "speech_start"]
            answered = any(tick < options["within_s"] * TICKS_PER_S for tick in starts)
            values = {"answered": [float(answered)]}
            if judge is not None:
                try:
                    values["polite"] = [float(judge.score(POLITE, {"call": call.name, "answered": answered})["polite"])]
                except InputError as error:
                    problems.append(Problem(call.name, str(error)))
            system, clip = call.columns["system"], call.columns["clip"]
            tags = {"reply": ("speech",) if answered else ()}
            items.append(ScoredItem("all", system, clip, values, text="<words>", tags=tags, recording=str(call.path)))
        return items, problems

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        return replace(super().card(document), views=Views(document["settings"]["level"]))


SUITE: Final = Answers()


class Other(Answers):
    """Another benchmark with a command of the same name, and with data that ship, one file of which is lost."""

    name = "other"

    def ship(self, folder: Path, options: Mapping[str, Any], show: Show) -> None:
        folder.mkdir(exist_ok=True)
        for name in ("first", "second"):
            show(name)
            (folder / f"{name}.wav").write_bytes(wav_bytes(np.full(SAMPLE_RATE_HZ // 2, 900, np.int16), SAMPLE_RATE_HZ))

    def side_a(self, data: str) -> SideA:
        return replace(super().side_a(data), problems=[Problem(f"{data}/third.wav", "cannot be used")])


OTHER: Final = Other()


def install(path: Path) -> Path:
    """Make a folder that, on the path of imports, brings the benchmarks; return it."""
    entries = (
        "[fdbcore.suites]\nanswers = fakes.stranger_suite:SUITE\nother = fakes.stranger_suite:OTHER\n"
        "broken = fakes.no_such_module:SUITE\n"
        "[fdbcore.judges]\nstrict = fakes.stranger_suite:strict\n"
    )
    return plugin(path, "answers", entries)
