"""Recorded users of v1 and v1.5, played to parties of which each has one fault, scored, exported and scored again."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Asked
from helpers.commands import command, done, refused
from helpers.recorded_users import FAULTS, document, figures, party, put, said, v1_data, v15_data

from fdbcore.audio.wav import WavWriter
from fdbcore.measures.reading import Reading
from fdbcore.registry import suite
from fdbcore.report.scorecard.screen import rows_table
from fdbcore.report.scorecard.tables import scales_of
from fdbcore.sources.clips import read_clip
from fdbcore.suites.fdb_v1.card import ranges_table
from fdbcore.suites.fdb_v1.over_samples import V1Range
from fdbcore.suites.fdb_v1.samples import samples_in
from fdbcore.types import SAMPLE_RATE_HZ, Problem

KNOWN_WORD_S = 0.4


def spoken_words(run: Path, folder: Path, late_s: float = 0.0) -> str:
    """The address of words: one each 0.4 s wherever the system speaks, from `late_s` on."""
    for case in sorted(path.parent for path in run.glob("*/meta.json")):
        reading = Reading(case)
        chunks = []
        for start, end in reading.dialogue.ipus["B"].tolist():
            at_s = start / 100 + late_s
            while at_s + 0.1 <= end / 100:
                chunks.append({"text": "sea", "timestamp": [at_s, min(at_s + KNOWN_WORD_S, end / 100)]})
                at_s += KNOWN_WORD_S
        (folder / case.name).mkdir(parents=True)
        for side in "AB":
            (folder / case.name / f"{side}.json").write_text(json.dumps({"chunks": chunks}))
    return f"words:{folder}"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of all parties over the four tasks, and its scores."""
    folder = tmp_path_factory.mktemp("v1")
    data = v1_data(folder / "data", [1])
    systems = [each for fault in FAULTS for each in ("--system", f"{fault}={party(folder, fault)}")]
    result = done("run", "--suite", "fdb-v1", "--data", data, *systems, "--clock", "virtual", "--out", folder / "run")
    assert "rating of replies to interruptions: left out" in " ".join(result.stdout.split())
    return folder


def test_each_fault_moves_the_measures_that_name_it(held: Path, tmp_path: Path) -> None:
    words = spoken_words(held / "run", tmp_path / "words")
    human = tmp_path / "human.json"
    human.write_text(json.dumps({"1": [0] * 10 + [1] * 5 + [0] * 10}))
    out = tmp_path / "out"
    done("score", "--suite", "fdb-v1", held / "run", "--transcriber", words, "--human", human, "--out", out)
    found = document(out)
    by = figures(found)
    assert [row["system"] for row in found["rows"] if row["condition"] == "pause handling"] == list(FAULTS)
    good = {task: by["good", task] for _, task in by}
    stop = "b_stopped_within_2s_per_labelled_interruption"
    latency = "response_latency_ms_per_labelled_turn_end"
    assert good["pause handling"] == {
        "compat_takeover_unwanted": 0, "takeover_by_activity_unwanted": 0, "cut_off_per_labelled_a_pause": 0
    }  # fmt: skip
    assert good["smooth turn-taking"]["compat_takeover_wanted"] == 1
    assert good["smooth turn-taking"]["compat_latency_s"] == pytest.approx(0.8, abs=0.1)
    assert good["smooth turn-taking"][latency] == pytest.approx(800, abs=100)
    assert good["user interruption"][stop] == 1
    assert good["user interruption"]["compat_latency_s"] == pytest.approx(0.8, abs=0.1)
    assert good["backchannel"]["compat_takeover_unwanted"] == 0
    assert good["backchannel"]["compat_backchannels_per_s"] > 0.1
    assert good["backchannel"]["compat_jsd"] < 0.8326
    spoilt: dict[str, tuple[str, dict[str, Any]]] = {
        "hasty": ("pause handling", {"compat_takeover_unwanted": 1, "cut_off_per_labelled_a_pause": 1}),
        "mute": ("backchannel", {"compat_backchannels_per_s": 0, "compat_jsd": 1}),
        "late": ("smooth turn-taking", {latency: pytest.approx(2500, abs=100)}),
        "stubborn": ("user interruption", {stop: 0, "answered_per_labelled_turn_end": 0}),
    }
    for system, (task, moved) in spoilt.items():
        own = by[system, task]
        assert {name: own[name] for name in moved} == moved
        for other in ("pause handling", "backchannel"):
            if other != task:
                assert by[system, other] == good[other], (system, other)
    assert by["late", "smooth turn-taking"]["compat_latency_s"] == pytest.approx(2.5, abs=0.1)
    assert by["stubborn", "user interruption"]["compat_latency_s"] == 0, "it never stopped, which looks fast"


def test_outputs_that_exist_score_as_the_run_did(held: Path, tmp_path: Path) -> None:
    words = spoken_words(held / "run", tmp_path / "words")
    of_run = document_of(tmp_path / "of-run", held / "run", "--transcriber", words)
    exported = tmp_path / "released"
    result = done("export", held / "run", "--format", "fdb1", "--out", exported)
    good = exported / "good"
    for case in json.loads((held / "run" / "run.json").read_text())["cases"]:
        if case["system"] == "good":
            place = good / Path(case["clip"]["path"]).parent.relative_to("../data")
            shutil.copy(tmp_path / "words" / case["name"] / "B.json", place / "output.json")
    (good / "icc_backchannel" / "2").mkdir()
    shutil.copy(good / "icc_backchannel" / "1" / "input.wav", good / "icc_backchannel" / "2" / "input.wav")
    out = tmp_path / "of-folder"
    result = command("score", "--suite", "fdb-v1", good, "--out", out)
    assert result.exit_code == 1, "one sample has no output"
    found = document(out)
    assert [problem["reason"] for problem in found["problems"]] == ["expected output.wav beside input.wav, found none"]
    assert found["settings"]["transcribers"] == ["output.json"]
    ours, theirs = figures(of_run), figures(found)
    for (system, task), own in theirs.items():
        assert system == "good"
        for name, value in own.items():
            if not name.endswith("_at_16_khz"):  # of files alone
                assert value == pytest.approx(ours["good", task][name], rel=0.02, abs=0.02), (task, name)
    command("score", "--suite", "fdb-v1", good, "--out", out, code=1)
    assert document(out) == found


def document_of(out: Path, *arguments: object) -> dict[str, Any]:
    done("score", "--suite", "fdb-v1", *arguments, "--out", out)
    return document(out)


@pytest.fixture(scope="module")
def overlapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two parties over the overlaps of v1.5, and their clean samples."""
    folder = tmp_path_factory.mktemp("v15")
    data = v15_data(folder / "data", [1])
    systems = [each for fault in ("good", "stubborn") for each in ("--system", f"{fault}={party(folder, fault)}")]
    options = ("--clock", "virtual", "--no-score", "--out", folder / "run")
    done("run", "--suite", "fdb-v1.5", "--data", data, *systems, *options)
    return folder


def answered(asked: Asked) -> str:
    """A judge's answer: who never stops goes on with what it was saying."""
    evidence = json.loads(asked.user)
    (start_s, end_s) = (evidence["overlap"]["from_s"], evidence["overlap"]["to_s"])
    through = any(line["from_s"] < start_s and line["to_s"] > end_s for line in evidence["system"])
    by_ours = "did" in asked.body["response_format"]["json_schema"]["schema"]["properties"]
    told = (
        {"did": "resumes" if through else "responds"} if by_ours else {"behaviour": "resume" if through else "respond"}
    )
    return json.dumps({**told, "reason": "“sea”"})


@NEEDS_OPENAI
def test_overlaps_are_judged_compared_and_heard_by_other_detectors(
    overlapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, out = overlapped / "run", tmp_path / "out"
    words, late = spoken_words(run, tmp_path / "words"), spoken_words(run, tmp_path / "late", late_s=1.0)
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    heard = ("--transcriber", words, "--transcriber", late, "--vad", "energy")
    scored = ("score", "--suite", "fdb-v1.5", run, *heard, "--out", out)
    with FakeOpenAI(answered) as server:
        quality = f"{sys.executable} -c 'print(3.5)'"
        arguments = (*scored, "--judge", server.address_of("openai:gpt-5-nano"), "--utmos", quality)
        done(*arguments)
        first = document(out)
        asked = len(server.asked)
        assert asked == 16, "two rubrics for each disturbed sample"
        done(*arguments)
        assert len(server.asked) == asked, "what was answered is not asked again"
    by = figures(first)
    kinds = ("user interruption", "user backchannel", "talking to other", "background speech")
    conditions = {row["condition"] for row in first["rows"]}
    assert conditions == {name for kind in kinds for name in (kind, f"{kind}, clean")}
    for kind, stop in zip(kinds, ("interruption", "backchannel", "side_talk", "noise"), strict=True):
        assert by["good", kind][f"b_stopped_within_2s_per_labelled_{stop}"] == 1
        assert by["good", kind]["compat_respond"] == 1
        assert by["good", kind]["compat_stop_s"] < by["stubborn", kind]["compat_stop_s"]
        assert not any("stopped" in name for name in by["good", f"{kind}, clean"])
    assert by["stubborn", "user interruption"]["compat_resume"] == 1
    assert by["stubborn", "user interruption"]["b_stopped_within_2s_per_labelled_interruption"] == 0
    heard_rates = [each for each in first["ranges"] if each["by"] == "transcriber"]
    assert {each["measure"] for each in heard_rates} >= {"compat_words_per_minute_after", "words_per_minute_change"}
    detected = [each for each in first["ranges"] if each["by"] == "detector"]
    assert detected
    assert all(list(each["values"]) == ["silero", "energy"] and each["low"] <= each["high"] for each in detected)
    tests = {(each["system"], each["condition"], each["feature"], each["against"]): each for each in first["tests"]}
    rate = tests["good", "user interruption", "words_per_minute", "before"]
    assert (rate["n"], rate["ours_n"]) == (1, 1)
    if find_spec("parselmouth") is None:
        assert any("pip install 'fdbcore[prosody]'" in note for note in first["notes"])
        return
    assert tests["good", "user interruption", "utmos", "clean"]["ours_difference"] == 0
    stubborn = tests["stubborn", "user interruption", "pitch_mean_hz", "before"]
    assert (stubborn["n"], stubborn["ours_n"]) == (0, 1), "only samples judged to respond are tested as published"
    item = next(each for each in first["items"] if "pitch_mean_hz" in each.get("before", {}))
    assert 60 < item["before"]["pitch_mean_hz"] < 500


@NEEDS_OPENAI
def test_the_four_files_of_words_of_a_release_are_what_a_judge_reads(
    overlapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    done("export", overlapped / "run", "--format", "fdb1", "--out", tmp_path / "all")
    good, spoken = tmp_path / "all" / "good", tmp_path / "words"
    spoken_words(overlapped / "run", spoken)
    for case in json.loads((overlapped / "run" / "run.json").read_text())["cases"]:
        if case["system"] == "good":
            user = good / Path(case["clip"]["path"]).relative_to("../data")
            for side, name in (("A", "input"), ("B", "output")):
                place = user.with_name(user.name.replace("input.wav", f"{name}.json"))
                shutil.copy(spoken / case["name"] / f"{side}.json", place)
    scored = ("score", "--suite", "fdb-v1.5", good)
    with FakeOpenAI(answered) as server:
        judge = ("--judge", server.address_of("openai:gpt-5-nano"))
        done(*scored, *judge, "--out", tmp_path / "out")
        asked = [json.loads(each.user) for each in server.asked]
        assert len(asked) == 8, "two questions for each disturbed sample, by either rubric"
        assert all(each[name] for each in asked for name in ("user", "system", "user_without_overlap"))
        assert figures(document(tmp_path / "out"))["good", "user interruption"]["compat_respond"] == 1
        for path in good.rglob("input.json"):
            path.write_text('{"chunks": 3}')
        command(*scored, *judge, "--out", tmp_path / "damaged", code=1)
        assert len(server.asked) == 8, "who is not heard is not judged"
    found = document(tmp_path / "damaged")
    assert [each["reason"].partition(" as chunks")[0] for each in found["problems"]] == [
        "input.json: expected words"
    ] * 4
    assert any("4 samples are not judged: expected the words of both sides" in each for each in found["warnings"])


def test_pitch_and_intensity_are_those_of_a_made_sound() -> None:
    pytest.importorskip("parselmouth", reason="needs praat-parselmouth (pip install 'fdbcore[prosody]')")
    from fdbcore.suites.fdb_v1.sample_values import _as_published, _features, _ours

    at = np.arange(2 * 16_000) / 16_000
    loud, soft = ((gain * np.sin(2 * np.pi * 150 * at)).astype(np.int16) for gain in (8000, 800))
    found = _features(loud, None, 20.0)
    assert found["pitch_mean_hz"] == pytest.approx(150, abs=0.5)
    assert found["pitch_sd_hz"] < 0.5
    assert found["intensity_mean_db"] - _features(soft, None, 20.0)["intensity_mean_db"] == pytest.approx(20, abs=0.1)
    with_zeros = np.concatenate([loud, np.zeros_like(loud), loud])
    for name in ("intensity_mean_db", "pitch_mean_hz"):
        assert _features(with_zeros, None, 20.0)[name] == pytest.approx(found[name], abs=1.0), (
            "ours: digital silence is not counted"
        )
    assert _features(with_zeros, None, 20.0)["intensity_sd_db"] < 6
    hum = (np.random.default_rng(1).normal(0, 10, 16_000)).astype(np.int16)
    assert _ours(hum, None) == {}
    assert 20 < _as_published(hum, None)["intensity_mean_db"] < 40, "a side without speech is measured whole"
    silent = {"pitch_mean_hz": 0.0, "pitch_sd_hz": 0.0, "intensity_mean_db": -200.0, "intensity_sd_db": 0.0}
    assert _as_published(np.zeros_like(hum), None) == silent
    assert _as_published(hum[:100], None) == {}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda place: (place / "pause.json").unlink(), "expected labels in pause.json, found none"),
        (
            lambda place: (place / "pause.json").write_text('[{"timestamp": [2, 1]}]'),
            "pause.json: expected a start before its end, got 2 to 1 s",
        ),
        (
            lambda place: (place / "pause.json").write_text('[{"timestamp": [1, 1e308]}]'),
            "pause.json: expected a start before its end, got 1 to 1e+308 s",
        ),
        (
            lambda place: (place / "pause.json").write_text('[{"timestamp": 3}]'),
            "pause.json: expected the start and the end in s, got 3",
        ),
    ],
)
def test_a_sample_that_cannot_be_used_is_named(tmp_path: Path, spoil: Callable[[Path], object], reason: str) -> None:
    data = v1_data(tmp_path / "data", [1])
    for task in ("icc_backchannel", "candor_turn_taking", "synthetic_user_interruption"):
        shutil.rmtree(data / task)
    spoil(data / "synthetic_pause_handling" / "1")
    result = command(
        "run", "--suite", "fdb-v1", "--data", data, "--system", "echo", "--clock", "virtual", "--dry-run", code=2
    )
    assert reason in " ".join(result.output.split())


def outputs_of_one_task(folder: Path, task: str, system_s: Sequence[tuple[float, float]], n: int = 1) -> Path:
    """Samples of a task, in which the system speaks in these spans."""
    data = v1_data(folder / "outputs", range(1, n + 1))
    for other in data.iterdir():
        if other.name != task:
            shutil.rmtree(other)
    for sample in (data / task).iterdir():
        length_s = length_s_of(sample / "input.wav")
        pcm = np.zeros(round(length_s * SAMPLE_RATE_HZ), np.int16)
        for start_s, end_s in system_s:
            spoken = said(end_s - start_s)[::-1]  # backwards: the user's own recording would be an echo
            pcm[round(start_s * SAMPLE_RATE_HZ) :][: len(spoken)] = spoken
        put(sample, "output.wav", pcm)
    return data


def length_s_of(path: Path) -> float:
    pcm, _ = read_clip(path)
    return len(pcm) / SAMPLE_RATE_HZ


def words_at(*spans: tuple[float, float | None]) -> str:
    return json.dumps({"chunks": [{"text": "sea", "timestamp": span} for span in spans]})


def test_transcribers_are_compared_on_the_samples_that_all_have(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "candor_turn_taking", [(3.0, 5.0)], n=4)
    for number in range(1, 5):
        said_ = [(3.0, 4.0), (4.0, 5.0)] if number < 4 else []
        (tmp_path / "words").mkdir(exist_ok=True)
        place = tmp_path / "words" / f"candor_turn_taking-{number}"
        place.mkdir()
        (place / "B.json").write_text(words_at(*said_))
    (data / "candor_turn_taking" / "1" / "output.json").write_text(words_at((3.0, 3.2)))
    found = document_of(tmp_path / "out", data, "--transcriber", f"words:{tmp_path / 'words'}")
    (row,) = found["rows"]
    assert row["measures"]["compat_takeover_wanted"]["value"] == 0.75
    (share,) = (each for each in found["ranges"] if each["measure"] == "compat_takeover_wanted")
    assert share["n"] == 1
    assert list(share["values"].values()) == [1, 0]


TAKEOVER = "compat_takeover_wanted"


def scored_outputs(folder: Path, data: Path, *options: object) -> tuple[dict[str, Any], list[str]]:
    """The figures of each sample by its number, and what is said of those with a problem."""
    result = command("score", "--suite", "fdb-v1", data, *options, "--out", folder / "out")
    found = document(folder / "out")
    assert result.exit_code == (1 if found["problems"] else 0), result.output
    told = [f"{Path(each['where']).name.rpartition('-')[2]}: {each['reason']}" for each in found["problems"]]
    return {item["sample"].rpartition("-")[2]: item["figures"] for item in found["items"]}, told


def test_words_that_cannot_be_used_are_not_silence_and_leave_the_sound_scored(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "candor_turn_taking", [(3.0, 5.0)], n=8)
    beside = {
        "1": words_at((3.0, 3.9), (4.0, 5.0)),
        "2": words_at((3000, 3900), (4000, 5000)),
        "3": words_at((3.0, None), (4.0, None)),
        "4": words_at((3.9, 3.0), (5.0, 4.0)),
        "5": words_at((3.0, 3.9), (4.0, 5.0), (5.0, None)),
        "6": words_at(),
        "7": json.dumps({"chunks": [{"text": None, "timestamp": [3.0, 3.9]}]}),
        "8": '{"chunks": [{"text": "se',
    }
    for number, content in beside.items():
        (data / "candor_turn_taking" / number / "output.json").write_text(content)
    by, told = scored_outputs(tmp_path, data)
    assert {number: own.get(TAKEOVER) for number, own in by.items()} == {
        "1": [1], "2": None, "3": None, "4": None, "5": [1], "6": [0], "7": None, "8": None
    }  # fmt: skip
    assert all(own["takeover_by_activity_wanted"] == [1] for own in by.values())
    no_text, no_json, *others = told
    assert no_text.startswith("7: output.json: expected words as chunks with text and timestamp, got the text None")
    assert no_json.startswith("8: output.json: expected words as JSON")
    assert no_json.endswith("no words, all else is scored")
    problem = "output.json: expected words with times in s, within {} s: {} have none such, left out"
    assert others == [
        f"2: {problem.format(6.7, '2 of 2')}",
        f"3: {problem.format(6.8, '2 of 2')}",
        f"4: {problem.format(6.9, '2 of 2')}",
        f"5: {problem.format('7.0', '1 of 3')}",
    ]
    assert r"\label{tab:full-duplex-bench-v1}" in (tmp_path / "out" / "table.tex").read_text()


def test_outputs_of_two_voices_and_those_that_end_too_early_are_not_scored(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "candor_turn_taking", [(3.0, 5.0)], n=6)
    task = data / "candor_turn_taking"
    pcm, _ = read_clip(task / "1" / "output.wav")
    for number, right in (("1", np.roll(pcm, 9600)), ("2", pcm)):
        with WavWriter(task / number / "output.wav", channels=2) as file:
            file.write(np.stack([pcm, right], axis=1))
    put(task / "3", "output.wav", pcm[: 2 * SAMPLE_RATE_HZ])
    put(task / "4", "output.wav", pcm[: 5 * SAMPLE_RATE_HZ])
    whole = (task / "5" / "output.wav").read_bytes()
    (task / "5" / "output.wav").write_bytes(whole[: len(whole) // 4])
    by, told = scored_outputs(tmp_path, data)
    assert sorted(by) == ["2", "4", "6"]
    assert all(own["takeover_by_activity_wanted"] == [1] for own in by.values())
    stereo, short, late, cut = sorted(told)
    assert stereo == "1: expected one channel, got 2 that differ: keep that of the system alone: output.wav"
    expected = "expected an output as long as its input, {} s, got {} s"
    assert short == f"3: {expected.format('6.80', '2.00')}: what is measured is missing"
    assert late == f"4: {expected.format('6.90', '5.00')}: what is missing counts as silence"
    assert cut.startswith(f"5: {expected.format('7.00', '1.7')[:-2]}")
    assert "(output.wav: cut off:" in cut


def test_people_who_gave_no_backchannel_stop_no_command(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "icc_backchannel", [(3.0, 4.0)])
    (tmp_path / "human.json").write_text('{"1": [0, 0, 0]}')
    by, told = scored_outputs(tmp_path, data, "--human", tmp_path / "human.json")
    assert told == []
    assert by["1"]["compat_backchannels_per_s"][0] > 0
    assert not {"compat_jsd", "backchannel_distance"} & by["1"].keys(), "the script has NaN"


def test_who_begins_early_is_told_apart_from_who_says_nothing(tmp_path: Path) -> None:
    """The turn of sample n ends at 1.5 s + n / 10: early, hardly early, in time, and nothing."""
    data = outputs_of_one_task(tmp_path, "candor_turn_taking", [], n=4)
    for number, start_s in ((1, 0.8), (2, 1.6), (3, 2.8)):
        sample = data / "candor_turn_taking" / str(number)
        put(sample, "output.wav", said(0, start_s, 2.0, length_s_of(sample / "input.wav") - start_s - 2.0))
    by, told = scored_outputs(tmp_path, data)
    assert told == []
    assert {number: own["early_per_labelled_turn_end"] for number, own in by.items()} == {
        "1": [1], "2": [0], "3": [0], "4": [0]
    }  # fmt: skip
    assert {number: own["answered_per_labelled_turn_end"] for number, own in by.items()} == {
        "1": [0], "2": [1], "3": [1], "4": [0]
    }  # fmt: skip
    (hardly_ms,), (in_time_ms,) = (by[number]["response_latency_ms_per_labelled_turn_end"] for number in "23")
    assert (hardly_ms, in_time_ms) == (pytest.approx(-100, abs=60), pytest.approx(1000, abs=60))
    result = command("score", "--suite", "fdb-v1", data, "--out", tmp_path / "out")
    assert "More than 0.2 s early, which is no response: outputs in 1 of 4 samples." in " ".join(result.stdout.split())


def test_a_run_leaves_out_the_users_that_scoring_leaves_out_and_both_say_so(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "candor_turn_taking", [(3.0, 4.5)], n=5)
    task = data / "candor_turn_taking"
    pcm, _ = read_clip(task / "1" / "input.wav")
    with WavWriter(task / "1" / "input.wav", channels=2) as file:
        file.write(np.stack([pcm, np.roll(pcm, 9600)], axis=1))
    cuts = {}
    for number, left_s in (("2", 2), ("3", 5)):
        cut = task / number / "input.wav"
        lacks = round((length_s_of(cut) - left_s) * SAMPLE_RATE_HZ) * 2
        cut.write_bytes(cut.read_bytes()[:-lacks])
        cuts[number] = f"cut off: {lacks} bytes fewer than its header states, {left_s}.000 s remain"
    (task / "4" / "input.wav").unlink()
    _, of_outputs = scored_outputs(tmp_path, data)
    run = tmp_path / "run"
    arguments = ("--system", "echo", "--clock", "virtual", "--vad", "energy", "--out", run)
    result = command("run", "--suite", "fdb-v1", "--data", data, *arguments)
    of_run = document(tmp_path / "run-scores")
    left_out = [
        f"{task / '4'}: expected input.wav, found none",
        f"{task / '1'}: expected one channel, got 2 that differ: keep that of the user alone: input.wav",
        f"{task / '2'}: input.wav: {cuts['2']}: what is measured is missing",
    ]
    for line in left_out:
        assert f"fdbcore run: {line}" in result.stderr
    told = [f"{problem['where']}: {problem['reason']}" for problem in of_run["problems"]]
    in_part = f"3: input.wav: {cuts['3']}"
    assert [*left_out, f"{run}/candor_turn_taking-{in_part}"] == [
        each for each in told if "echo of the user" not in each
    ]
    assert sorted(of_outputs) == sorted([*(line.removeprefix(f"{task}/") for line in left_out), in_part])
    assert sorted(item["sample"] for item in of_run["items"]) == ["candor_turn_taking-3", "candor_turn_taking-5"]
    page = " ".join((tmp_path / "run-scores" / "report.html").read_text().split())
    assert "expected input.wav, found none" in page


def test_who_only_echoes_the_user_is_not_best_at_waiting(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "synthetic_pause_handling", [])
    sample = data / "synthetic_pause_handling" / "1"
    put(sample, "input.wav", user := said(4.0, 0.5, 4.0, 0.4))
    put(sample, "output.wav", np.concatenate([np.zeros(4800, np.int16), user // 4])[: len(user)])
    by, told = scored_outputs(tmp_path, data)
    assert by == {"1": {}}
    assert told == [
        "1: all that was heard of the system is echo of the user: unscored by our measures; those as published "
        "count it as speech"
    ]
    again = command("score", "--suite", "fdb-v1", data, "--out", tmp_path / "out")
    assert "Pause handling: no pause could be scored: why is said above or below." in " ".join(again.stdout.split())


def test_who_waits_in_the_pause_and_answers_later_is_not_blamed_in_the_headline(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "synthetic_pause_handling", [])
    put(data / "synthetic_pause_handling" / "1", "input.wav", said(1.3, 0.5, 1.2, 4.0))
    pcm = np.concatenate([np.zeros(round(3.9 * SAMPLE_RATE_HZ), np.int16), said(2.0, 1.1)])
    put(data / "synthetic_pause_handling" / "1", "output.wav", pcm)
    done("score", "--suite", "fdb-v1", data, "--out", tmp_path / "out")
    assert figures(document(tmp_path / "out"))["outputs", "pause handling"] == {
        "takeover_by_activity_unwanted": 1, "cut_off_per_labelled_a_pause": 0
    }  # fmt: skip
    page = " ".join((tmp_path / "out" / "report.html").read_text().split())
    assert "Pause handling: began to speak in the pause: outputs in 0 of 1 pause." in page
    assert "silent in the pause and answered after the user is blamed, too" in page


def test_the_quality_needs_no_praat_and_its_failure_leaves_the_rest(
    overlapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = ("score", "--suite", "fdb-v1.5", overlapped / "run", "--out")
    command(*scored, tmp_path / "failed", "--utmos", "/nonexistent", code=1)
    found = document(tmp_path / "failed")
    assert all("--utmos /nonexistent: expected a command" in each["reason"] for each in found["problems"])
    assert found["problems"]
    if find_spec("parselmouth") is not None:
        assert any("pitch_mean_hz" in item.get("before", {}) for item in found["items"])
    monkeypatch.setattr("fdbcore.suites.fdb_v1.scoring.lacking", lambda: "no Praat")
    done(*scored, tmp_path / "alone", "--utmos", f"{sys.executable} -c 'print(3.5)'")
    after = [item["after"] for item in document(tmp_path / "alone")["items"] if item.get("after")]
    assert after
    assert all(each == {"utmos": 3.5} for each in after)


def test_without_a_judge_sentences_tell_our_measures_and_then_the_published_one(
    overlapped: Path, tmp_path: Path
) -> None:
    told = " ".join(done("score", "--suite", "fdb-v1.5", overlapped / "run", "--out", tmp_path / "out").stdout.split())
    by = figures(document(tmp_path / "out"))
    stops_s = [by[system, "user interruption"]["compat_stop_s"] for system in ("good", "stubborn")]
    first, _, published = told.partition("User interruption: ")[2].partition("As published, ")
    assert first.startswith("stopped within 2 s: good in 1 of 1 sample, stubborn in 0 of 1 sample. ")
    assert published.startswith("time until it stopped: good {:.2f} s, stubborn {:.2f} s.".format(*stops_s))
    assert "Background speech: stopped within 2 s, without need: good in 1 of 1 sample, stubborn in 0 of" in told


def test_samples_of_the_other_version_are_refused(overlapped: Path, held: Path, tmp_path: Path) -> None:
    for own, other, data in (("fdb-v1", "fdb-v1.5", overlapped / "data"), ("fdb-v1.5", "fdb-v1", held / "data")):
        run = ("run", "--data", data, "--system", "echo", "--clock", "virtual", "--out", tmp_path / "R")
        for arguments in ((*run, "--suite", own), ("score", data, "--suite", own, "--out", tmp_path / "S")):
            assert f"expected a sample of {own}, got one of {other}: --suite {other}" in refused(*arguments)


def test_labels_that_cannot_be_used_are_named_and_the_others_scored(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "synthetic_pause_handling", [], n=3)
    (data / "synthetic_pause_handling" / "2" / "pause.json").write_text('[{"timestamp": [1')
    (data / "synthetic_pause_handling" / "3" / "pause.json").write_text('[{"timestamp": [50, 60]}]')
    command("score", "--suite", "fdb-v1", data, "--out", tmp_path / "out", code=1)
    found = document(tmp_path / "out")
    assert [item["sample"].rpartition("-")[2] for item in found["items"]] == ["1"]
    broken, late = found["problems"]
    assert broken["where"].endswith("synthetic_pause_handling/2")
    assert broken["reason"].startswith("pause.json: expected labels as JSON")
    assert late["reason"] == "expected labels that begin within its 3.6 s, got 50 to 60 s"
    run = ("run", "--suite", "fdb-v1", "--data", data, "--system", "echo", "--dry-run")
    told = " ".join(command(*run).output.split())
    assert "pause.json: expected labels as JSON" in told
    assert "synthetic_pause_handling/3: expected labels that begin within its 3.6 s, got 50 to 60 s" in told


def test_a_label_that_is_left_out_decides_nothing(tmp_path: Path) -> None:
    """The user of sample n ends at 1.5 s + n / 10, and the system says words from 3 s on. Three labels of turns and one
    of an interruption begin after the end of their recordings."""
    data = outputs_of_one_task(tmp_path, "candor_turn_taking", [(3.0, 5.0)], n=3)
    for number, at in (("1", [[2.0, 2.4]]), ("2", [[50, 51]]), ("3", [[60, 61], [2.0, 2.4], [70, 71]])):
        sample = data / "candor_turn_taking" / number
        (sample / "turn_taking.json").write_text(json.dumps([{"timestamp": span} for span in at]))
        (sample / "output.json").write_text(words_at((3.0, 3.9), (4.0, 5.0)))
    for number, at_s in (("1", 0.5), ("2", 50)):
        place = data / "user_interruption" / number
        shutil.copytree(data / "candor_turn_taking" / "1", place)
        (place / "turn_taking.json").unlink()
        (place / "interrupt.json").write_text(json.dumps([{"timestamp": [at_s, at_s + 0.5]}]))
    _, told = scored_outputs(tmp_path, data)
    found = document(tmp_path / "out")
    assert [(item["condition"], item["sample"][-1], item["labels"]) for item in found["items"]] == [
        ("smooth turn-taking", "1", [[2.0, 2.4]]),
        ("smooth turn-taking", "3", [[2.0, 2.4]]),
        ("user interruption", "1", [[0.5, 1.0]]),
    ]
    rows = {row["condition"]: row["measures"] for row in found["rows"]}
    turns, cut_ins = rows["smooth turn-taking"], rows["user interruption"]
    assert (turns["compat_latency_s"]["value"], turns["compat_latency_s"]["n"]) == (pytest.approx(1.0), 2)
    assert (cut_ins["compat_takeover_wanted"]["value"], cut_ins["compat_takeover_wanted"]["n"]) == (1, 1)
    assert told == [
        "2: expected labels that begin within its 6.7 s, got 50 to 51 s",
        "3: expected labels that begin within its 6.8 s, got 60 to 61 s, 70 to 71 s, left out",
        "2: expected labels that begin within its 6.6 s, got 50 to 50.5 s",
    ]


def test_labels_that_end_too_late_are_cut_and_doubles_count_once(tmp_path: Path) -> None:
    """The user of sample n is 10.7 s + n / 10 long."""
    data = outputs_of_one_task(tmp_path, "synthetic_user_interruption", [(2.5, 5.2)], n=4)
    for number, spans in (
        ("1", [[4.6, 5.8]]),
        ("2", [[4.7, 5.9], [4.7, 5.9]]),
        ("3", [[4.8, 11.02]]),
        ("4", [[4.9, 400], [4.9, 400], [50, 51]]),
    ):
        notes = [{"timestamp": span} for span in spans]
        (data / "synthetic_user_interruption" / number / "interrupt.json").write_text(json.dumps(notes))
    found, told = scored_outputs(tmp_path, data)
    items = {item["sample"][-1]: item["labels"] for item in document(tmp_path / "out")["items"]}
    assert items == {"1": [[4.6, 5.8]], "2": [[4.7, 5.9]], "3": [[4.8, 11.0]], "4": [[4.9, 11.1]]}
    assert [len(each["b_stopped_within_2s_per_labelled_interruption"]) for each in found.values()] == [1, 1, 1, 1]
    assert told == [
        "2: expected each label once, got 4.7 to 5.9 s again, counted once",
        "3: expected labels that end within its 11.00 s, got 4.8 to 11.02 s, cut there",
        "4: expected each label once, got 4.9 to 400 s again, counted once; "
        "expected labels that begin within its 11.1 s, got 50 to 51 s, left out; "
        "expected labels that end within its 11.10 s, got 4.9 to 400 s, cut there",
    ]


def test_a_call_that_the_system_ended_early_is_left_out_with_its_reason(tmp_path: Path) -> None:
    """Also where nothing is labelled: who is gone takes no turn. What goes on for 1 s after the label is scored."""
    data = v1_data(tmp_path / "data", [1])
    for task in ("synthetic_pause_handling", "synthetic_user_interruption"):
        shutil.rmtree(data / task)
    code = "import sys\nfor _ in range({}):\n sys.stdout.buffer.write(bytes(len(sys.stdin.buffer.read(960))))"
    for name, n in (("dies", 100), ("later", 350)):
        (tmp_path / f"{name}.py").write_text(code.format(n) + "\n sys.stdout.buffer.flush()\nsys.exit(3)\n")
    systems = [("--system", f"{name}=exec: {sys.executable} {tmp_path / name}.py") for name in ("dies", "later")]
    run = ("run", "--suite", "fdb-v1", "--data", data, *systems[0], *systems[1], "--clock", "virtual")
    command(*run, "--vad", "energy", "--out", tmp_path / "run")
    command("score", "--suite", "fdb-v1", tmp_path / "run", "--out", tmp_path / "out", code=1)
    found = document(tmp_path / "out")
    ended = "(failed: exited with code 3): what is"
    assert {Path(each["where"]).name: each["reason"] for each in found["problems"]} == {
        call: f"expected a call as long as its input, {input_s} s, got {got_s} s {ended} {missing}"
        for call, input_s, got_s, missing in (
            ("icc_backchannel-1-dies", "8.40", "1.00", "measured is missing"),
            ("icc_backchannel-1-later", "8.40", "3.50", "measured is missing"),
            ("candor_turn_taking-1-dies", "6.60", "1.00", "measured is missing"),
            ("candor_turn_taking-1-later", "6.60", "3.50", "missing counts as silence"),
        )
    }
    assert [(item["system"], item["condition"]) for item in found["items"]] == [("later", "smooth turn-taking")]


def test_labels_that_are_missing_or_nested_too_deep_are_named_once(tmp_path: Path) -> None:
    data = v15_data(tmp_path / "data", [1, 2, 3])
    task = data / "user_interruption"
    for other in data.iterdir():
        if other != task:
            shutil.rmtree(other)
    (task / "1" / "metadata.json").unlink()
    (task / "2" / "metadata.json").write_text("[" * 100_000 + "]" * 100_000)
    problems: list[Problem] = []
    found = samples_in("fdb-v1.5", data, problems)
    assert [clip.path.parent.name for clip, _ in found] == ["3", "3"]
    deep, missing = problems
    assert missing == (str(task / "1"), "expected metadata.json, found none")
    assert deep.where == str(task / "2")
    assert deep.reason.startswith("metadata.json: expected labels as JSON, got: it is nested too deep")


def test_pauses_in_which_the_system_was_speaking_already_are_counted(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "synthetic_pause_handling", [(0.6, 2.5)], n=2)
    put(data / "synthetic_pause_handling" / "1", "output.wav", np.zeros(round(3.4 * SAMPLE_RATE_HZ), np.int16))
    by, told = scored_outputs(tmp_path, data)
    assert told == []
    assert {number: own["cut_off_per_labelled_a_pause"] for number, own in by.items()} == {"1": [0], "2": []}
    assert "false cut-ins: 1 pause left out: B was already speaking (1)" in document(tmp_path / "out")["warnings"]


def test_labels_of_other_tasks_that_cannot_be_used_stop_nothing(tmp_path: Path) -> None:
    data = outputs_of_one_task(tmp_path, "candor_turn_taking", [(3.0, 5.0)], n=3)
    task = data / "candor_turn_taking"
    for number in "123":
        (task / number / "output.json").write_text(words_at((3.0, 3.9), (4.0, 5.0)))
    (task / "1" / "pause.json").write_text('[{"timestamp": 5}]')
    (task / "2" / "interrupt.json").write_text('[{"foo": 1}]')
    (task / "3" / "turn_taking.json").write_text('[{"timestamp": ["1.8", "2.2"]}]')
    by, told = scored_outputs(tmp_path, data)
    assert by["3"]["compat_latency_s"] == pytest.approx([1.2])
    assert [line.replace(str(task), "") for line in told] == [
        "1: /1/pause.json: expected the start and the end in s, got 5",
        "2: /2/interrupt.json: expected the start and the end in s, got None",
    ]
    arguments = ("--system", "echo", "--clock", "virtual", "--vad", "energy", "--out", tmp_path / "run")
    command("run", "--suite", "fdb-v1", "--data", data, *arguments)
    assert [item["sample"][-1] for item in document(tmp_path / "run-scores")["items"]] == ["1", "2", "3"]


def test_every_folder_that_must_be_a_sample_but_has_no_user_is_named(tmp_path: Path) -> None:
    """Also where a whole task has none: the name of its folder, or an output in it, says that it is one."""
    data = outputs_of_one_task(tmp_path, "synthetic_pause_handling", [])
    for name in ("icc_backchannel/1", "unknown/7"):
        (data / name).mkdir(parents=True)
        shutil.copy(data / "synthetic_pause_handling" / "1" / "output.wav", data / name)
    (data / "candor_turn_taking" / "3").mkdir(parents=True)
    (data / "scripts" / "old").mkdir(parents=True)
    command("score", "--suite", "fdb-v1", data, "--out", tmp_path / "out", code=1)
    named = [Path(each["where"]).relative_to(data).as_posix() for each in document(tmp_path / "out")["problems"]]
    assert named == ["candor_turn_taking/3", "icc_backchannel/1", "unknown/7"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--human", "nothing.json"), "--human nothing.json: expected JSON"),
        (("--human", "nan.json"), "got nan.json: expected JSON, got something else (NaN is no JSON)"),
        (("--human", "vast.json"), "vast.json: expected JSON, got something else (99999999999999999999 is beyond all"),
        (("--human", "one.json"), "--human one.json: 2: expected two counts or more, none below 0; got 3"),
        (("--transcriber", "nobody"), "--transcriber: expected one of"),
        (("--vad", "nobody"), "--vad: expected one of"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Sequence[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nan.json").write_text('{"1": [1, NaN, 2]}')
    Path("vast.json").write_text(f'{{"1": [1, {"9" * 400}, 2]}}')
    Path("one.json").write_text('{"1": [1, 2], "2": [3]}')
    assert reason in refused("score", "--suite", "fdb-v1", tmp_path, *options, "--out", tmp_path / "out")


@NEEDS_OPENAI
def test_every_interruption_has_a_rating_of_ours_and_takeovers_alone_one_as_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    data = outputs_of_one_task(tmp_path, "synthetic_user_interruption", [(7.0, 9.0)], n=3)
    for number, spans in (("1", [(7.0 + at, 7.4 + at) for at in (0, 0.4, 0.8, 1.2)]), ("2", [(7.0, 7.5)]), ("3", [])):
        (data / "synthetic_user_interruption" / number / "output.json").write_text(words_at(*spans))
    with FakeOpenAI(lambda asked: json.dumps({"rating": 4, "reason": "sea"})) as server:
        found = document_of(tmp_path / "out", data, "--judge", server.address_of("openai:gpt-5-nano"))
    assert len(server.asked) == 2, "nothing is asked about who says nothing"
    (row,) = found["rows"]
    figures_of = row["measures"]
    assert (figures_of["compat_rating"]["value"], figures_of["compat_rating"]["n"]) == (4, 1)
    assert (figures_of["rating"]["value"], figures_of["rating"]["n"]) == (pytest.approx(8 / 3), 3)


@NEEDS_OPENAI
def test_a_dry_run_says_what_a_judge_would_be_asked(held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FakeOpenAI.VARIABLE, FakeOpenAI.KEY)
    of_run = ("score", "--suite", "fdb-v1", held / "run", "--dry-run")
    with FakeOpenAI(answered) as server:
        result = done(*of_run, "--judge", server.address_of("openai:gpt-5-nano"))
        assert f"{len(FAULTS)} of {len(FAULTS)} questions left" in result.output
        assert not server.asked
    assert "asks nobody" in command(*of_run).output


def test_a_scoring_that_was_killed_goes_on(held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, out = tmp_path / "good", tmp_path / "out"
    done("export", held / "run", "--format", "fdb1", "--out", tmp_path / "all")
    (tmp_path / "all" / "good").rename(good)
    with monkeypatch.context() as killed:
        killed.setattr("fdbcore.suites.fdb_v1.scoring.rows_of", lambda *_: sys.exit(9))
        assert command("score", "--suite", "fdb-v1", good, "--out", out).exit_code == 9
    made = {path: path.stat().st_mtime_ns for path in out.glob("recordings/good/*/meta.json")}
    assert len(made) == 4
    done("score", "--suite", "fdb-v1", good, "--out", out)
    assert {path: path.stat().st_mtime_ns for path in made} == made, "what was read is not read again"
    assert len(document(out)["items"]) == 4


def test_the_published_table_stands_beside(held: Path, tmp_path: Path) -> None:
    found = document_of(tmp_path / "out", held / "run", "--published")
    moshi = next(row for row in found["rows"] if (row["system"], row["condition"]) == ("Moshi (ICC *)", "backchannel"))
    values = {name: each["value"] for name, each in moshi["measures"].items()}
    assert values == {"compat_takeover_unwanted": 1.0, "compat_backchannels_per_s": 0.001, "compat_jsd": 0.957}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Moshi (ICC *)" in page
    assert "*: the released script takes any file for one of 16 kHz" in page
    assert "Moshi (Candor)" in page, "no other task is marked"
    card = suite("fdb-v1").card(found)
    rows = [row for row in card.rows if (row.group, row.condition) == ("published", "backchannel")]
    lines = rows_table(scales_of(card, rows), rows, 100)
    assert any(re.search(r"Moshi \(ICC \*\) +55 +1\.000 +0\.001 +0\.957$", line) for line in lines), lines


def test_the_picture_of_a_sample_has_both_sides_and_the_labels(held: Path) -> None:
    card = suite("fdb-v1").card(document_of(held / "pictures", held / "run"))
    (case,) = (case for case in card.cases if (case.system, case.condition) == ("hasty", "smooth turn-taking"))
    drawn = card.views.picture(case)
    assert re.search(
        r'aria-label="smooth turn-taking: the user and hasty over 6\.6 s; labels: 1\.60 to 2\.00 s"', drawn
    )
    (user,) = re.findall(r'class="user" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn)
    (label,) = re.findall(r'class="label" x="([\d.]+)"', drawn)
    (system,) = re.findall(r'class="system" x="([\d.]+)"', drawn)
    assert float(user[0]) + float(user[1]) <= float(label) + 3 < float(system)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_numbers_of_a_range_are_whole_however_narrow_the_terminal_is(width: int) -> None:
    values = {"silero": 1043.0, "energy": 917.0, "another-detector": 1021.0}
    measure = "response_latency_ms_per_labelled_turn_end"
    moved = V1Range("user interruption", "freeze-omni", measure, "detector", 200, values, 917.0, 1043.0)
    lines = ranges_table([moved], width)
    assert max(map(len, lines)) <= width
    found = [word for line in lines for word in line.split() if word.isdecimal() and word != "0"]
    assert found == ["200", "917", "1043", "1043", "917", "1021"]
    assert " ".join(lines).count("another-detector") == 1
