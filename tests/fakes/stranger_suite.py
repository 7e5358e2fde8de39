"""A benchmark as another package would bring it: clips on side A, and how often, and how politely, systems answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from fdbcore import registry
from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import InputError
from fdbcore.protocols import Judge
from fdbcore.protocols.suite import Command, Console, Suite
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import outcome_in, read_plan
from fdbcore.runs.plan import users_of
from fdbcore.sources.clips import clips_in
from fdbcore.types import SAMPLE_RATE_HZ, Material, Option, Problem, Rubric, SideA
from fdbcore.types.scorecard import Difference, Figure, Scale, Scorecard, Scored, ScoredCase, ScoreRow, Telling
from fdbcore.types.usage import Service


def _name(options: Mapping[str, Any], console: Console) -> bool:
    console.say(f"{options['dir'].name}: {', '.join(clip.name for clip in clips_in(options['dir']))}")
    return True


POLITE: Final = Rubric(
    "polite",
    "How polite is this call, from 1 to 5?",
    {"type": "object", "properties": {"polite": {"type": "integer"}}, "required": ["polite"]},
)


def _mean(values: Sequence[float]) -> Figure:
    return Figure(sum(values) / len(values) if values else None)


class Strict(Judge):
    """A judge that is no model: whoever answers is polite; it has no opinion of one call."""

    name = "strict:one"

    def mark(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        if evidence["call"].endswith("two"):
            raise InputError(f"{self.name}: {rubric.name}: no opinion of {evidence['call']}")
        return {"polite": 5 if evidence["answered"] else 1}

    def services(self) -> Sequence[Service]:
        return [Service("words", "judge.example.com")]

    def describe(self) -> Mapping[str, Any]:
        return {"name": self.name}


def strict(address: str) -> Judge:
    return Strict()


class Answers(Suite):
    """How many clips each system answered at all, and how politely, if somebody judges that."""

    name = "answers"
    schema = "answers/1"
    score_options = (
        Option("--least-s", "What counts as an answer.", kind="count", default=1),
        Option("--judge", "Let this judge mark how polite the calls are.", metavar="JUDGE:NAME"),
    )
    commands = (Command("name", "Name the clips.", (Option("DIR", kind="path", required=True),), _name),)

    def side_a(self, data: str) -> SideA:
        clips = clips_in(data)
        return SideA(users_of(clips, "tail_s=0.5"), material=Material(self.name, data, {}))

    def services(self, options: Mapping[str, Any]) -> Sequence[Service]:
        return [] if options["judge"] is None else registry.judge(options["judge"]).services()

    def score(
        self,
        paths: Sequence[Path],
        options: Mapping[str, Any],
        jobs: int | None,
        out: Path,
        show: Callable[[str], None],
    ) -> Scored:
        items: list[dict[str, Any]] = []
        problems: list[Problem] = []
        judge = None if options["judge"] is None else registry.judge(options["judge"])
        for path in paths:
            for case in read_plan(path)["cases"]:
                show(case["name"])
                if outcome_in(path / case["name"]) is None:
                    problems.append(Problem(case["name"], "not held yet"))
                    continue
                events = Recording(path / case["name"]).turn_events
                spoke = any(event.side == "B" and event.kind == "speech_start" for event in events)
                item = {"id": case["name"], "system": case["system"], "answered": spoke}
                if judge is not None:
                    try:
                        item |= judge.mark(POLITE, {"call": case["name"], "answered": spoke})
                    except InputError as error:
                        problems.append(Problem(case["name"], str(error)))
                items.append(item)
        shares = {
            name: [item["answered"] for item in items if item["system"] == name]
            for name in dict.fromkeys(item["system"] for item in items)
        }
        rows = {name: {"n": len(found), "answered": sum(found) / len(found)} for name, found in shares.items()}
        return Scored(
            {
                "schema": self.schema,
                "least_s": options["least_s"],
                "judge": None if judge is None else judge.describe(),
                "rows": rows,
                "items": items,
                "problems": [problem._asdict() for problem in problems],
            }
        )

    def card(self, document: Mapping[str, Any]) -> Scorecard:
        cases = [
            ScoredCase(
                "all",
                item["system"],
                item["id"],
                "<words>",
                {name: float(item[name]) for name in ("answered", "polite") if name in item},
                tags={"reply": ("speech",) if item["answered"] else ()},
                item=item,
            )
            for item in document["items"]
        ]
        return Scorecard(
            "Were the clips answered?",
            [
                Scale("answered", "answered", 1, main=True),
                Scale("silent", "not answered", -1),
                Scale("polite", "polite", 1),
            ],
            {"all": f"{len(cases)} calls"},
            [
                ScoreRow(
                    "all",
                    "system",
                    name,
                    row["n"],
                    {
                        "answered": Figure(row["answered"], 0.0, (0.5, 1.0)),
                        "polite": _mean([case.values["polite"] for case in cases if "polite" in case.values]),
                    },
                )
                for name, row in document["rows"].items()
            ],
            [Difference("all", "e", "f", "answered", 2, 0.5, (-0.5, 1.0), 0.04, 0.08, 0.3)],
            [Telling("least", "answered", case) for case in cases[:1]],
            problems=[Problem(**problem) for problem in document["problems"]],
            notes=("answered: the system spoke.",),
            cases=cases,
        )

    def style(self) -> str:
        return ".tick { fill: green; }"

    def legend(self, document: Mapping[str, Any]) -> str:
        return "<p>A tick is an answer.</p>"

    def picture(self, case: ScoredCase) -> str:
        return f"<svg><title>{case.item['id']}</title></svg>"

    def section(self, document: Mapping[str, Any]) -> str:
        return f"<h2>What else</h2><p>{document['least_s']} s</p>"


SUITE: Final = Answers()


class Other(Answers):
    """Another benchmark with a command of the same name, and with data that ship, one file of which is lost."""

    name = "other"

    def ship(self, folder: Path, options: Mapping[str, Any], show: Callable[[str], None]) -> None:
        folder.mkdir(exist_ok=True)
        for name in ("first", "second"):
            show(name)
            (folder / f"{name}.wav").write_bytes(wav_bytes(np.full(SAMPLE_RATE_HZ // 2, 900, np.int16), SAMPLE_RATE_HZ))

    def side_a(self, data: str) -> SideA:
        return replace(super().side_a(data), problems=[Problem(f"{data}/third.wav", "cannot be used")])


OTHER: Final = Other()


def install(path: Path) -> Path:
    """Make a folder that, on the path of imports, brings the benchmarks; return it."""
    distribution = path / "fdbcore_answers-1.0.dist-info"
    distribution.mkdir(parents=True)
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: fdbcore-answers\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text(
        "[fdbcore.suites]\nanswers = fakes.stranger_suite:SUITE\nother = fakes.stranger_suite:OTHER\n"
        "broken = fakes.no_such_module:SUITE\n"
        "[fdbcore.judges]\nstrict = fakes.stranger_suite:strict\n"
    )
    return path
