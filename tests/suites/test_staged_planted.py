"""Planted systems that pause between sentences, in recorded speech: each comes out in the measure that names it."""

import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fakes import staff
from helpers.commands import printed
from helpers.score_rows import rows, value
from helpers.staged_runs import NEEDS_VOICE, hold_staff, staff_at_work
from scipy.io import wavfile

from benchmarks.voices.clips import Phrase, phrases_of
from benchmarks.voices.packages import TUNING, fetched
from benchmarks.voices.speech import RATE_HZ
from fdbcore.suites.staged.rows import SCALES
from fdbcore.types import TICKS_PER_S

pytestmark = NEEDS_VOICE
PAUSES_S = (0.3, 0.79, 1.2)
FAULTS = (
    "late", "quick", "never-answers", "answers-once", "fades", "vague", "keeps-the-old-value", "talks-over",
    "never-yields",
)  # fmt: skip
STOPS = "b_stopped_within_2s_per_labelled_interruption"


@pytest.fixture
def voice(tmp_path: Path) -> Path:
    """A folder of recorded phrases of one voice, each 1.2 to 4 s long."""
    folder = tmp_path / "voice"
    try:
        clips = fetched(TUNING["english-woman"], folder / "package")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs the recorded voice of a Debian package: {error}")
    (folder / "clips").mkdir()
    for number, pcm in enumerate(told_apart(phrases_of(clips))):
        wavfile.write(folder / "clips" / f"{number:02}.wav", RATE_HZ, pcm)
    return folder / "clips"


def told_apart(phrases: Sequence[Phrase]) -> Iterator[npt.NDArray[np.int16]]:
    """The phrases of 1.2 to 4 s that the transcriber of the staff does not take for each other."""
    chosen: list[staff.Levels] = []
    for phrase in phrases:
        pcm = (phrase.pcm / np.abs(phrase.pcm).max() * 20_000).astype(np.int16)
        own = staff.levels(pcm, RATE_HZ // TICKS_PER_S)
        if 1.2 <= phrase.speech_s <= 4 and not any(staff.is_in(own, each) or staff.is_in(each, own) for each in chosen):
            chosen.append(own)
            yield pcm


@pytest.mark.parametrize("pacing", ["slow", "fast"])
def test_planted_systems(pacing: str, voice: Path, tmp_path: Path) -> None:
    """One test, as its parts would each hold the calls anew in processes of their own."""
    scored = held_and_scored(tmp_path, pacing, voice)
    for system in (f"right-{pause_s}{ears}" for pause_s in PAUSES_S for ears in ("", "-heard")):
        a_right_system_is_right_however_it_pauses(scored, system)
    the_examiner_takes_no_pause_for_an_end(scored)
    each_fault_comes_out_in_the_measure_that_names_it(scored)


def held_and_scored(folder: Path, pacing: str, voice: Path) -> dict[str, Any]:
    """The rows of a run by system, and the examiner's own: of right systems with and without ears, of faulty ones."""
    with staff_at_work(folder, partial(staff.transcript, voice=str(voice))) as hears:
        right = {f"right-{pause_s}": f"pause_s={pause_s}&voice={voice}" for pause_s in PAUSES_S}
        # who is late is asked again by the fast examiner, before it has answered
        planted = [fault for fault in FAULTS if (fault, pacing) != ("late", "fast")]
        wrong = {fault: f"fault={fault}&pause_s=0.9&voice={voice}" for fault in planted}
        heard_too = {f"{name}-heard": how for name, how in (right | wrong).items() if name in ("never-yields", *right)}
        runs = [
            hold_staff(folder / "deaf", pacing, right | wrong),
            hold_staff(folder / "ears", pacing, heard_too, "--examiner-transcriber", hears),
        ]
        document = printed("score", "--suite", "staged", *runs, "--transcriber", hears, "--out", folder / "s")
    found = {row["system"]: {scale.id: value(row, scale.id) for scale in SCALES} for row in rows(document)}
    return {"pacing": pacing, "rows": found, "items": document["items"], "examiners": document["examiners"]}


def met(scored: dict[str, Any], system: str) -> float:
    """The share of all goals that were met."""
    (item,) = (each for each in scored["items"] if each["system"] == system)
    verdicts = [str(goal["verdict"]) for goal in item["goals"]]
    return verdicts.count("met") / len(verdicts)


def a_right_system_is_right_however_it_pauses(scored: dict[str, Any], system: str) -> None:
    row = scored["rows"][system]
    # an answer is longer than 7 s: the fast examiner breaks in and asks again, if it cannot hear that the goal is met
    asks_again = scored["pacing"] == "fast" and not system.endswith("-heard")
    assert (met(scored, system), row["goals_met"], row["wordings"]) == (1, 1, 1 + asks_again)
    assert (row["answered_per_turn"], row["premature_per_turn"], row["no_response_per_turn"]) == (1, 0, 0)
    assert row["answer_ms"] == pytest.approx(700, abs=60)
    assert row["timing"] > 0.85
    assert row[STOPS] in (1, None)


def the_examiner_takes_no_pause_for_an_end(scored: dict[str, Any]) -> None:
    (examiner,) = scored["examiners"]
    assert examiner["sayings"] > 70
    proofs = [(item["system"], item["examined"]["proofs"]) for item in scored["items"] if item["examined"]["proofs"]]
    assert not proofs
    assert all(item["examined"]["fault"] is None for item in scored["items"])


def each_fault_comes_out_in_the_measure_that_names_it(scored: dict[str, Any]) -> None:
    rows, is_slow = scored["rows"], scored["pacing"] == "slow"
    shares = {name: met(scored, name) for name in rows}
    answered = {name: row["answered_per_turn"] for name, row in rows.items()}
    assert rows["quick"]["answer_ms"] == pytest.approx(450, abs=60)
    assert (shares["quick"], answered["quick"]) == (1, 1)
    if is_slow:
        assert rows["late"]["answer_ms"] == pytest.approx(4000, abs=60)
        assert (shares["late"], answered["late"], rows["late"]["timing"]) == (1, 1, 0)
    for words, share in (("vague", 0), ("keeps-the-old-value", 0.25)):
        assert shares[words] == share
        assert (answered[words], rows[words]["answer_ms"]) == (1, pytest.approx(700, abs=60))
        assert rows[words]["timing"] > 0.85
    for silent, share in (("never-answers", 0), ("answers-once", 0.25), ("fades", 0.25)):
        assert shares[silent] == share
        assert rows[silent]["no_response_per_turn"] == 1 - answered[silent] >= 0.75
    over = rows["talks-over"]
    assert over["premature_per_turn"] > 0.7
    assert answered["talks-over"] < 0.15 > over["timing"]
    for name in ("never-yields", "never-yields-heard"):
        stops = rows[name][STOPS]
        if is_slow or name.endswith("-heard"):  # by its ears the fast one knows in a pause that the goal is met
            assert (stops or 0, shares[name]) == (0, 1)
        else:
            assert stops < 0.1, "a pause of 0.9 s is no stop; an end of all it said may be"
