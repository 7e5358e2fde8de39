"""A run read again under other settings: as a replay with these settings would have told it, and where systems flip."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from helpers.voices import DIALOGUE, voices, write

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import CallGroup, Unit, groups, rescored
from fdbcore.analysis.score import quantities
from fdbcore.analysis.sensitivity import ALONE, MIN_SILENCES_MS, activity_by, reread, sensitivity, variant, variants
from fdbcore.analysis.summaries import Summary, summarise
from fdbcore.measures.catalogue import headlines
from fdbcore.measures.quantities import Share
from fdbcore.recording.files import ACTIVITY
from fdbcore.runs.replays import replay
from fdbcore.runtime.executor import Executor, ThisProcess, Workers
from fdbcore.types import TurnSettings

OTHER_DIALOGUE = "A 0.3-3 5-6.4 | B 3.5-4.3 7-8"


def run_of(path: Path, **manners: Manner) -> Run:
    calls = [
        MadeCall(call.name, call.activity, {"system": name})
        for seed, (name, manner) in enumerate(manners.items())
        for call in drawn_calls(6, seed, lambda _, of=manner: of, prefix=name)  # type: ignore[misc]
    ]
    return Run(made_run(path, calls))


def told(corpus: Run, executor: Executor | None = None) -> dict[str, Any]:
    run, _ = rescored(corpus, ThisProcess())
    assert corpus.settings is not None
    read: dict[str, Any] = json.loads(
        json.dumps(sensitivity(groups(run, "system"), corpus.settings, executor or ThisProcess()))
    )
    return read


def headline(summary: Summary) -> float | None:
    return summary["median"] if summary["median"] is not None else summary["mean"]


def test_the_first_reading_is_what_was_scored(tmp_path: Path) -> None:
    corpus = run_of(tmp_path / "run", one=Manner(premature=0.1), two=Manner())
    content = told(corpus)
    assert content["variants"][0] == {"name": "as scored", "changes": {}, "detector": None}
    for group in content["groups"]:
        pooled = summarise([call.quantities for call in corpus.calls if call.columns["system"] == group["name"]])
        for name in headlines():
            expected = headline(pooled[name])
            assert group["measures"][name]["own"] == (expected and pytest.approx(expected))
            assert group["measures"][name]["figures"][0] == group["measures"][name]["own"]


def test_ranges_are_over_all_readings(tmp_path: Path) -> None:
    content = told(run_of(tmp_path / "run", one=Manner(pause_s=0.15), two=Manner(pause_s=0.35)))
    assert list(content["unheard"]) == [f"{name}{k:04}" for name in ("one", "two") for k in range(6)]
    names = [variant["name"] for variant in content["variants"]]
    assert len(set(names)) == len(names) == len(MIN_SILENCES_MS) + len(ALONE)
    for group in content["groups"]:
        for of in group["measures"].values():
            given = [figure for figure in of["figures"] if figure is not None]
            assert len(of["figures"]) == len(names)
            if given:
                assert (of["low"], of["high"]) == (min(given), max(given))
                assert of["figures"][names.index(of["low_at"])] == of["low"]
                assert of["figures"][names.index(of["high_at"])] == of["high"]


def test_each_reading_is_a_replay_with_these_settings(tmp_path: Path) -> None:
    call = write(tmp_path / "call.wav", voices(DIALOGUE))
    recording = replay(call, out=tmp_path / "run", vad="energy")
    chosen = variants(TurnSettings(), ["silero"])
    found = reread(recording.path, chosen).headlines
    assert any(each["detector"] for each in chosen)
    for number in (0, 1, 8, len(chosen) - 1):
        one = chosen[number]
        settings = replace(TurnSettings(), **one["changes"])
        detector = one["detector"] or "energy"
        expected = quantities(replay(call, out=tmp_path / f"again{number}", vad=detector, settings=settings))
        told = found[number]
        for name in headlines():
            of = expected[name]
            assert told[name] == (replace(of, chance=None) if isinstance(of, Share) else of)


def test_the_other_detector_hears_what_a_replay_with_it_would(tmp_path: Path) -> None:
    call = write(tmp_path / "call.wav", voices(DIALOGUE))
    recording = replay(call, out=tmp_path / "silero", vad="silero")
    expected = replay(call, out=tmp_path / "energy", vad="energy").activity
    for _ in range(2):
        assert all(map(np.array_equal, activity_by(recording, "energy"), expected))
        call.unlink(missing_ok=True)  # and the second time from what was kept


def test_a_call_that_the_other_detector_cannot_hear_is_read_as_its_own_did(tmp_path: Path) -> None:
    calls = [write(tmp_path / f"call{k}.wav", voices(DIALOGUE)) for k in range(2)]
    for call in calls:
        replay(call, out=tmp_path / "run", vad="energy")
    calls[0].unlink()
    corpus = Run(tmp_path / "run")
    assert corpus.settings is not None
    content = sensitivity([CallGroup("", corpus.calls, [])], corpus.settings, ThisProcess())
    assert content["detectors"] == ["energy", "silero"]
    assert content["unheard"] == {"call0": "call0.wav is gone, or cannot be read"}
    assert any(variant["detector"] for variant in content["variants"])
    speaks = content["groups"][0]["measures"]["b_talk_share"]
    names = [variant["name"] for variant in content["variants"]]
    shares = [
        replay(calls[1], out=tmp_path / vad, vad=vad, settings=TurnSettings(min_silence_ms=300))
        for vad in ("energy", "silero")
    ]
    pooled = summarise([quantities(each) for each in shares])["b_talk_share"]
    assert speaks["figures"][names.index("min_silence 300 ms, silero")] == pytest.approx(headline(pooled))


def test_audio_that_changed_since_its_replay_is_not_heard(tmp_path: Path) -> None:
    call = write(tmp_path / "call.wav", voices(DIALOGUE))
    expected = activity_by(replay(call, out=tmp_path / "before"), "energy")
    recording, as_replayed = replay(call, out=tmp_path / "run"), call.read_bytes()
    own = reread(recording.path, [variant({})])
    write(call, voices(OTHER_DIALOGUE))
    reason = "call.wav has changed since it was replayed"
    assert reread(recording.path, [variant({}, "energy")]) == (own.headlines, {"energy": reason})
    call.write_bytes(as_replayed)
    assert all(map(np.array_equal, activity_by(recording, "energy"), expected))


def test_what_was_kept_of_another_content_is_heard_anew(tmp_path: Path) -> None:
    call = write(tmp_path / "call.wav", voices(DIALOGUE))
    recording = replay(call, out=tmp_path / "run")
    expected = activity_by(recording, "energy")
    write(call, voices(OTHER_DIALOGUE))
    other = replay(call, out=tmp_path / "other")
    activity_by(other, "energy")
    write(call, voices(DIALOGUE))
    kept = Path("derived") / "activity-energy.npz"
    for left in ((other.path / kept).read_bytes(), b"", b"PK"):  # the last two: cut off by a kill
        (recording.path / kept).write_bytes(left)
        assert all(map(np.array_equal, activity_by(recording, "energy"), expected))


def test_systems_that_change_places_are_named_with_the_settings(tmp_path: Path) -> None:
    content = told(run_of(tmp_path / "run", near=Manner(pause_s=0.1), far=Manner(pause_s=0.4)))
    (flip,) = [flip for flip in content["flips"] if flip["measure"] == "b_talk_share"]
    assert (flip["a"], flip["b"]) == ("far", "near")
    assert "min_silence 500 ms" in flip["at"]
    far, near = (group["measures"]["b_talk_share"]["figures"] for group in content["groups"])
    expected = [
        variant["name"]
        for variant, f, n in zip(content["variants"], far, near, strict=True)
        if (f - n) * (far[0] - near[0]) < 0
    ]
    assert flip["at"] == expected


def test_a_system_does_not_change_places_with_itself(tmp_path: Path) -> None:
    calls = drawn_calls(4, 3)
    twice = [MadeCall(f"{s}{c.name}", c.activity, {"system": s}) for s in ("one", "two") for c in calls]
    assert told(Run(made_run(tmp_path / "run", twice)))["flips"] == []


def test_processes_read_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = run_of(tmp_path / "run", one=Manner(), two=Manner())
    alone = told(corpus)
    monkeypatch.setattr("fdbcore.runtime.executor.FEW_ITEMS", 4)
    assert told(corpus, executor=Workers(2)) == alone


def test_a_call_whose_activity_is_broken_is_named(tmp_path: Path) -> None:
    corpus = run_of(tmp_path / "run", one=Manner())
    (corpus.calls[2].path / ACTIVITY).write_bytes(b"PK")
    run = CallGroup("", corpus.calls, [])
    assert corpus.settings is not None
    content = sensitivity([run], corpus.settings, ThisProcess())
    assert list(content["unread"]) == ["one0002"]
    assert "activity.npz: expected NumPy arrays" in content["unread"]["one0002"]
    assert run.clusters(Unit()) == [call.name for call in corpus.calls]


@pytest.mark.parametrize("own", [TurnSettings(), TurnSettings(min_silence_ms=60), TurnSettings(min_silence_ms=300)])
def test_settings_that_cannot_be_are_not_tried(own: TurnSettings) -> None:
    chosen = variants(own, ["silero"])
    tried = [replace(own, **each["changes"]) for each in chosen if not each["detector"]]
    assert tried[0] == own
    assert len(set(tried)) == len(tried)
    assert {s.min_silence_ms for s in tried} == {*MIN_SILENCES_MS, own.min_silence_ms}
