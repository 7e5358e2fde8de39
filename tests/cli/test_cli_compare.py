"""Two runs of 300 calls with a planted regression, and gates on them, as a user and a CI system meet them."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import Result
from helpers.commands import command, done, report, scored
from helpers.planted import Planted, planted_run
from helpers.voices import voices, write

from fdbcore.analysis.comparison import RunComparison, compare
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.kept import Kept
from fdbcore.recording.files import QUANTITIES, REPORT, read_json, write_json
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import CORPUS
from fdbcore.report.comparison.page import page
from fdbcore.report.format import NOT_CORRECTED
from fdbcore.report.html.values import NOTES
from fdbcore.session.vad import EnergyVad, SileroVad
from fdbcore.stats.bootstrap import ONE_CLUSTER
from fdbcore.types import TurnSettings

TURNS = 10
SILERO, ENERGY = (make().describe()["version"] for make in (SileroVad, EnergyVad))
CALLS = 300
GATES = """
gates = [
  "premature_per_turn <= baseline + 0.02",
  "response_latency_ms.median <= 900",
  "response_latency_ms.p90 <= baseline * 1.1",
  { check = "answered_per_turn >= 0.8", where = { language = "ja" } },
]
"""


@dataclass(frozen=True)
class Planned:
    folder: Path
    old: Path
    new: Path
    few: Path
    cut_old: Sequence[int]
    cut_new: Sequence[int]
    gates: Path


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """A baseline with 2 % of premature responses, a run with 6 %, and a run of 20 calls with 6 %."""
    folder = tmp_path_factory.mktemp("planted")

    def of(calls: int, premature: float, seed: int) -> list[Planted]:
        languages = [("en", calls // 2), ("ja", calls - calls // 2)]
        return [
            Planted(n, premature, seed + k, turns=TURNS, prefix=language, columns={"language": language})
            for k, (language, n) in enumerate(languages)
        ]

    cut_old = planted_run(folder / "old", *of(CALLS, 0.02, 10))
    cut_new = planted_run(folder / "new", *of(CALLS, 0.06, 20))
    planted_run(folder / "few", *of(20, 0.06, 30))
    gates = folder / "gates.toml"
    gates.write_text(GATES)
    return Planned(folder, folder / "old", folder / "new", folder / "few", cut_old, cut_new, gates)


def document(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report(*arguments, "--json").stdout)
    return found


@pytest.fixture(scope="module")
def gated(planted: Planned) -> tuple[Result, Path]:
    junit = planted.folder / "junit.xml"
    return report(
        planted.new, "--baseline", planted.old, "--gate", planted.gates, "--junit", junit, "--no-audio", "--json"
    ), junit


def test_a_planted_regression_fails_the_gate_with_the_right_interval(
    planted: Planned, gated: tuple[Result, Path]
) -> None:
    result, _ = gated
    assert result.exit_code == 1
    gates = json.loads(result.stdout)["gates"]
    assert [gate["status"] for gate in gates["results"]] == ["failed", "passed", "passed", "passed"]
    failed = gates["results"][0]
    shares = [sum(cut) / (TURNS * CALLS) for cut in (planted.cut_new, planted.cut_old)]
    assert failed["value"] == pytest.approx(shares[0] - shares[1])
    low, high = failed["interval"]
    assert 0.02 < low < 0.04 < high
    difference = (np.array(planted.cut_new) - np.array(planted.cut_old)) / TURNS
    z = 2.4977  # of 98.75 %: four gates share 5 %
    half = z * difference.std(ddof=1) / np.sqrt(CALLS)
    assert (low, high) == pytest.approx((failed["value"] - half, failed["value"] + half), abs=0.001)
    assert (failed["run"]["n"], failed["run"]["calls"], failed["baseline"]["n"]) == (
        TURNS * CALLS,
        CALLS,
        TURNS * CALLS,
    )


def test_the_failing_gate_links_its_five_worst_moments(planted: Planned, gated: tuple[Result, Path]) -> None:
    result, junit = gated
    worst = json.loads(result.stdout)["gates"]["results"][0]["worst"]
    assert len(worst) == len({moment["call"] for moment in worst}) == 5
    for moment in worst:
        page, _, time = moment["page"].partition("#t=")
        assert "<html" in Path(page).read_text()[:200]
        assert moment["file"] == os.path.relpath(f"/calls/{moment['call']}.wav", planted.new.resolve())
        events = Recording(planted.new / moment["call"]).turn_events
        early = [e.start_tick / 100 for e in events if e.kind == "overlap_between" and (e.fto_ticks or 0) < -20]
        assert float(time) == moment["start_s"]
        assert moment["start_s"] in early
    html = (planted.new / "compare.html").read_text()
    links = re.findall(r'href="([^"#]+)/report.html#t=([\d.]+)"', html)
    assert {(moment["call"], f"{moment['start_s']:g}") for moment in worst} <= {*links}
    assert len({*links}) == len(links)
    assert all((planted.new / call / REPORT).is_file() for call, _ in links)
    assert all(f"{moment['file']}: {moment['page']}" in junit.read_text() for moment in worst)


def test_junit_has_a_case_for_each_gate(gated: tuple[Result, Path]) -> None:
    suite = ElementTree.parse(gated[1]).getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("testsuite", "4", "1", "0")
    names = [case.get("name") for case in suite]
    assert names[0] == "premature_per_turn <= baseline + 0.02"
    assert names[3] == "answered_per_turn >= 0.8 where language = ja"
    (failure,) = suite.iter("failure")
    assert re.match(
        r"FAIL: [\d.]+ %, at most [\d.]+ % \(the baseline \+2 points\); [\d.]+ points above it \[0\.\d, ",
        failure.get("message") or "",
    )


def test_twenty_calls_cannot_tell_and_say_how_many_would(planted: Planned, tmp_path: Path) -> None:
    junit = tmp_path / "out" / "junit.xml"
    gates = tmp_path / "gates.toml"
    for setting, code, element in (("error", 3, "error"), ("fail", 1, "failure")):
        gates.write_text(f'cannot_tell = "{setting}"\ngates = ["premature_per_turn <= baseline + 0.02"]')
        result = report(planted.few, "--baseline", planted.old, "--gate", gates, "--junit", junit)
        assert result.exit_code == code
        assert "UNDECIDED" in result.stdout
        flat = " ".join(result.stdout.split())
        told = r"undecided with 20 calls against 300: likely .{1,60} would decide it; ([\d,]+) if the true"
        needed = re.search(told, flat)
        assert needed
        assert 20 < int(needed[1].replace(",", "")) < CALLS
        assert [each.tag for each in ElementTree.parse(junit).getroot()[0]] == [element]


@pytest.mark.parametrize("columns", [60, 80])
def test_the_screen_fits_the_terminal(planted: Planned, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    result = report(planted.few, "--baseline", planted.old, "--gate", planted.gates)
    paths = [str(planted.folder)]
    assert max(len(line) for line in result.stdout.splitlines() if not any(path in line for path in paths)) < columns
    assert result.stdout.splitlines()[-1] == str(planted.few / "compare.html")


def test_every_headline_is_compared_with_its_denominators(planted: Planned) -> None:
    found = document(planted.new, "--baseline", planted.old)
    (compared,) = found["comparisons"]
    assert (compared["paired_by"], compared["shared"]) == ("call name", CALLS)
    rows = {row["measure"]: row for row in compared["measures"]}
    assert {name: rows[name]["verdict"] for name in ("premature_per_turn", "answered_per_turn", "b_talk_share")} == {
        "premature_per_turn": "worse",
        "answered_per_turn": "worse",
        "b_talk_share": rows["b_talk_share"]["verdict"],
    }
    assert rows["response_latency_ms"]["verdict"] == "no difference found"
    assert rows["premature_per_turn"]["a"]["count"] == sum(planted.cut_new)
    assert rows["premature_per_turn"]["b"]["n"] == TURNS * CALLS
    assert all(row["p"] is None or row["p_holm"] >= row["p"] for row in rows.values())
    assert 0 < rows["premature_per_turn"]["detectable"] < 0.02
    html = re.sub(r"</?a[^>]*>", "", (planted.new / "compare.html").read_text())
    assert f"{sum(planted.cut_new)} of {TURNS * CALLS:,}" in html


def test_runs_that_share_no_calls_are_said_to_be_unpaired(planted: Planned, tmp_path: Path) -> None:
    planted_run(tmp_path / "other", Planted(30, 0.02, 5, prefix="x", columns={"language": "ja"}))
    result = report(tmp_path / "other", "--baseline", planted.few)
    told = " ".join(result.stdout.split())
    assert "compared as two groups" in told
    assert "in both" not in told, "no call is"
    found = document(tmp_path / "other", "--baseline", planted.few, "--by", "language")
    assert found["notes"] == ["language = en: only in the baseline"]
    assert [compared["title"] for compared in found["comparisons"] if compared["measures"]] == ["language = ja"]


def test_a_column_that_only_the_baseline_lacks_is_said_to_be_missing_there(tmp_path: Path) -> None:
    planted_run(tmp_path / "new", Planted(4, 0.1, 1, columns={"language": "ja"}))
    planted_run(tmp_path / "old", Planted(4, 0.1, 1, columns={"speaker": "x"}))
    result = report(tmp_path / "new", "--baseline", tmp_path / "old", "--by", "language", code=2)
    assert result.stderr.splitlines()[-1] == "Error: baseline: --by language: expected one of speaker"


def test_runs_over_the_same_scenarios_are_paired_by_them(tmp_path: Path) -> None:
    for run, prefix in (("old", "o"), ("new", "n")):
        planted_run(
            tmp_path / run,
            *(Planted(2, 0.1, k, prefix=f"{prefix}{k}-", columns={"scenario": f"s{k}"}) for k in range(12)),
        )
    (compared,) = document(tmp_path / "new", "--baseline", tmp_path / "old")["comparisons"]
    assert (compared["paired_by"], compared["shared"], compared["items"]) == ("scenario", 12, 12)
    assert all(row["value"] in (0, None) for row in compared["measures"])  # the same seeds: the same calls


def test_the_page_says_why_there_is_no_interval_where_it_would_be(tmp_path: Path) -> None:
    planted_run(tmp_path / "one", Planted(1, 0.1, 1))
    planted_run(tmp_path / "other", Planted(9, 0.1, 2, prefix="o"))
    result = report(tmp_path / "one", "--baseline", tmp_path / "other")
    assert "run (1 call) minus baseline (9 calls)" in " ".join(result.stdout.split())
    assert " ".join(result.stdout.split()).count(NOT_CORRECTED) == 1
    html = (tmp_path / "one" / "compare.html").read_text()
    cut = html.split("<code>premature_per_turn</code>")[0].rsplit("<tr>", 1)[1]  # its explanation is the next row
    assert f"<span class='meaning'>{ONE_CLUSTER}</span>" in cut
    assert NOTES not in html
    assert NOT_CORRECTED in html
    assert "worse" not in html.split("<main>")[1].split("</table>")[0]


def test_the_page_says_first_what_became_of_each_measure(planted: Planned) -> None:
    found = document(planted.few, "--baseline", planted.old)
    first, *others = found["comparisons"][0]["measures"]
    first |= {"value": None, "interval": None, "p": None, "p_holm": None, "detectable": None, "reason": "no items"}
    html = page(Kept(cast("RunComparison", found | {"made": "2026-11-23"})), Run(planted.few))
    row = re.compile(
        r"<td data-label=\"verdict\"><span[^>]*>([^<]+)<.*?<tr class=\"about\">.*?<code>(\w+)</code>", re.DOTALL
    )
    told = [(name, verdict) for verdict, name in row.findall(html)]
    assert told[0] == (first["measure"], "no items")
    assert told[1:] == [
        (row["measure"], row["verdict"] if row["value"] is not None else row["reason"]) for row in others
    ]


def test_groups_of_a_run_have_one_comparison_and_one_p_value(planted: Planned, tmp_path: Path) -> None:
    """`score --by` makes it; the library and the tables of a paper have the same figures, and no other command has."""
    told = scored(planted.few, "--by", "language", "--out", tmp_path)["differences"]
    assert {(each["a"], each["b"], each["paired_by"]) for each in told} == {("en", "ja", None)}
    figures = report(planted.few, "--by", "language", "--figures", tmp_path / "figures", "--json")
    for found in (compare(Run(planted.few), by="language"), json.loads(figures.stdout)):
        (compared,) = found["comparisons"]
        assert (compared["a"]["calls"], compared["b"]["calls"]) == (10, 10)
        rows = {row["measure"]: row for row in compared["measures"]}
        for each in told:
            if row := rows.get(each["measure"]):
                assert {key: row[key] for key in ("value", "p", "p_holm", "verdict", "reason")} == {
                    key: each[key] for key in ("value", "p", "p_holm", "verdict", "reason")
                }
                assert row["interval"] == pytest.approx(each["interval"])
    result = report(planted.few, "--by", "language", code=2)
    assert f"fdbcore score {planted.few} --by language" in " ".join(result.stderr.split())


def test_different_settings_are_refused_unless_told(planted: Planned, tmp_path: Path) -> None:
    planted_run(tmp_path / "set", Planted(20, 0.02, 5), turns=TurnSettings(min_silence_ms=300))
    result = report(tmp_path / "set", "--baseline", planted.few)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "turns min_silence_ms: run 300, baseline 200" in result.stderr
    assert "--different-settings" in result.stderr
    told = report(tmp_path / "set", "--baseline", planted.few, "--different-settings", code=0)
    assert "!! different settings: turns min_silence_ms: run 300, baseline 200" in told.stdout
    assert "different settings: turns min_silence_ms: run 300" in (tmp_path / "set" / "compare.html").read_text()


@pytest.mark.parametrize(
    ("detectors", "got", "replayed", "by"),
    [
        (
            [{"name": "silero", "version": SILERO}, {}],
            f"silero {SILERO} in {{0}} and energy {ENERGY} in {{1}}",
            1,
            "silero",
        ),
        ([{"version": "0.0.1"}, {}], f"energy 0.0.1 in {{0}} and energy {ENERGY} in {{1}}", 0, "energy"),
        ([{}, {"version": "0.0.1"}], f"energy {ENERGY} in {{0}} and energy 0.0.1 in {{1}}", 1, "energy"),
    ],
)
def test_detectors_are_not_mixed_and_the_command_that_mends_it_is_named(
    detectors: list[dict[str, Any]], got: str, replayed: int, by: str, tmp_path: Path
) -> None:
    runs = [tmp_path / name for name in ("new", "old")]
    for path, detector in zip(runs, detectors, strict=True):
        planted_run(path, Planted(20, 0.02, 5), **detector)
    (tmp_path / "gates.toml").write_text('gates = ["premature_per_turn <= baseline + 0.02"]\n')
    for arguments in ([], ["--gate", tmp_path / "gates.toml"]):
        refused = report(runs[0], "--baseline", runs[1], *arguments, code=2)
        line = " ".join(refused.stderr.split())
        assert f"expected one voice activity detector, got {got.format(*runs)}: " in line
        stale = runs[replayed]
        assert f"`fdbcore replay {stale} --vad {by} --out {stale}-{by}` decides it anew" in line
        assert "--different-settings" in line
    assert report(runs[0], "--baseline", runs[1], "--different-settings").exit_code == 0


def test_a_run_of_two_detectors_is_refused_and_one_of_an_earlier_version_says_so(tmp_path: Path) -> None:
    planted_run(tmp_path / "mixed", Planted(20, 0.02, 5))
    planted_run(tmp_path / "more", Planted(20, 0.02, 6, prefix="z"), version="0.0.1")
    known = [json.loads((tmp_path / name / CORPUS).read_text()) for name in ("mixed", "more")]
    for call in known[1]["calls"]:
        (tmp_path / "more" / call["name"]).rename(tmp_path / "mixed" / call["name"])
    known[0]["calls"] += known[1]["calls"]
    (tmp_path / "mixed" / CORPUS).write_text(json.dumps(known[0]))
    planted_run(tmp_path / "old", Planted(20, 0.02, 5), version="0.0.1")
    (tmp_path / "gates.toml").write_text('gates = ["premature_per_turn <= 0.5"]\n')
    refused = report(tmp_path / "mixed", "--gate", tmp_path / "gates.toml", code=2)
    line = " ".join(refused.stderr.split())
    assert f"expected one voice activity detector, got energy 0.0.1 and energy {ENERGY}: " in line
    assert f"`fdbcore replay {tmp_path / 'mixed'} --vad energy --out {tmp_path / 'mixed'}-energy`" in line
    earlier = f"voice activity was decided by energy 0.0.1, which is {ENERGY} now: `fdbcore replay` renews it"
    assert earlier in " ".join(report(tmp_path / "old", "--gate", tmp_path / "gates.toml", code=0).output.split())
    assert earlier.replace("`", "") in (tmp_path / "old" / "index.html").read_text().replace("`", "")
    for arguments in ("score", "report"):
        assert earlier in " ".join(command(arguments, tmp_path / "old").stdout.split())


def test_another_version_is_named_and_its_items_are_counted_anew(planted: Planned, tmp_path: Path) -> None:
    planted_run(tmp_path / "v0", Planted(20, 0.02, 5), made_by="0.0.9")
    before = document(planted.few, "--baseline", tmp_path / "v0")
    assert any("made by different versions of fdbcore: " in note and "0.0.9" in note for note in before["notes"])
    for path in (tmp_path / "v0").glob(f"*/{QUANTITIES}"):
        write_json(path, {"schema": "fdbcore.quantities/0", "quantities": {}})
    after = document(planted.few, "--baseline", tmp_path / "v0")
    assert _row(after, "premature_per_turn")["b"] == _row(before, "premature_per_turn")["b"]


def _row(found: dict[str, Any], measure: str) -> dict[str, Any]:
    row: dict[str, Any] = next(r for r in found["comparisons"][0]["measures"] if r["measure"] == measure)
    return row


def test_what_is_wrong_is_one_line_and_no_verdict(planted: Planned, tmp_path: Path) -> None:
    gates = tmp_path / "gates.toml"
    for text, message in [
        ("prematur_per_turn <= 0.1", "perhaps premature_per_turn"),
        ("premature_per_turn <= baseline", "expected --baseline"),
    ]:
        gates.write_text(f'gates = ["{text}"]')
        result = report(planted.few, "--gate", gates)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{gates}: {text}: " in result.stderr
        assert message in result.stderr
    gates.write_text('gates = ["premature_per_turn <= 0.1"]')
    assert report(planted.few, "--gate", tmp_path / "none.toml").exit_code == 2
    assert report(planted.few, "--junit", tmp_path / "x.xml").exit_code == 2
    assert report(planted.few, "--json").exit_code == 2
    assert report(planted.few, "--figures", tmp_path / "figures", "--call", "en0000").exit_code == 2


def test_what_is_no_run_is_a_wrong_command_and_an_error_in_the_xml(planted: Planned, tmp_path: Path) -> None:
    gates, junit = tmp_path / "gates.toml", tmp_path / "gates.xml"
    gates.write_text('gates = ["premature_per_turn <= 0.1"]')
    (tmp_path / "empty").mkdir()
    planted_run(tmp_path / "set", Planted(2, 0.02, 5), turns=TurnSettings(min_silence_ms=300))
    planted_run(tmp_path / "unscored", Planted(2, 0.02, 5))
    corpus = read_json(tmp_path / "unscored" / "corpus.json")
    for call in corpus["calls"]:
        call |= {"status": "failed", "reason": "no audio", "unscored": "no audio"}
    write_json(tmp_path / "unscored" / "corpus.json", corpus)
    for arguments, code in (
        ((tmp_path / "nothing",), 2),
        ((tmp_path / "empty",), 2),
        ((planted.few, "--baseline", tmp_path / "nothing"), 2),
        ((planted.few, "--baseline", tmp_path / "set"), 2),
        ((tmp_path / "unscored",), 3),  # 1 would say that a gate had failed
    ):
        junit.unlink(missing_ok=True)
        result = report(*arguments, "--gate", gates, "--junit", junit)
        assert (result.exit_code, result.stdout) == (code, "")
        suite = ElementTree.parse(junit).getroot()
        assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
        (error,) = suite.iter("error")
        assert error.text
        assert error.text == error.get("message")
        assert error.text in result.stderr
        without = report(*arguments)
        assert without.exit_code in ((2,) if code == 2 else (0, 1))


def test_calls_that_are_not_scored_are_counted(planted: Planned, tmp_path: Path) -> None:
    planted_run(tmp_path / "run", Planted(20, 0.02, 5))
    corpus = read_json(tmp_path / "run" / "corpus.json")
    corpus["calls"][3] |= {"status": "failed", "reason": "no audio", "unscored": "no audio"}
    write_json(tmp_path / "run" / "corpus.json", corpus)
    result = report(tmp_path / "run", "--baseline", planted.few)
    assert "!! run: 1 of 20 calls not scored, in no figure: call0003" in result.stdout
    assert "run: 19 of 20 calls scored against" in " ".join(result.stdout.split())


SOUND = "A 0.5-2 5-6.5 | B {:g}-4.6 {:g}-9"


def test_from_audio_to_the_exit_code(tmp_path: Path) -> None:
    """Recorded calls, replayed: B answers a second later than in the baseline."""
    for run, late_s in (("old", 0.3), ("new", 1.3)):
        (tmp_path / run).mkdir()
        for number in range(8):
            start_s = late_s + 0.05 * number
            write(tmp_path / run / f"call{number}.wav", voices(SOUND.format(2 + start_s, 6.5 + start_s)))
        done("replay", "--vad", "energy", "--quiet", "--out", f"{tmp_path}/{run}-run", f"{tmp_path}/{run}")
    (tmp_path / "gates.toml").write_text('gates = ["response_latency_ms <= baseline + 500"]')
    result = report(
        tmp_path / "new-run", "--baseline", tmp_path / "old-run", "--gate", tmp_path / "gates.toml", "--json", code=1
    )
    (gate,) = json.loads(result.stdout)["gates"]["results"]
    assert gate["value"] == pytest.approx(1000, abs=30)
    assert gate["paired_by"] == "call name"
    assert [moment["call"] for moment in gate["worst"]] == [f"call{n}" for n in (7, 6, 5, 4, 3)]
    assert gate["worst"][0]["file"] == "../new/call7.wav"
    assert gate["worst"][0]["text"] == "slow response 1.6 s" or gate["worst"][0]["text"] == "slow response 1.7 s"
    assert "call7.wav" in (tmp_path / "new-run" / "call7" / REPORT).read_text()
