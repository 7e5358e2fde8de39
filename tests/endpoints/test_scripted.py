"""Scripted parties: each cue by hand, no script that hangs, and the call between the two that ship."""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.word_errors import word_error_rate

from fdbcore.audio.speech import without_edges
from fdbcore.audio.wav import WavWriter, wav_bytes
from fdbcore.clock import VirtualClock
from fdbcore.endpoints.examiner.script import read_script
from fdbcore.endpoints.examiner.scripted import ScriptedEndpoint
from fdbcore.errors import InputError, MissingExtraError, SettingsError
from fdbcore.models.packaged import packaged, why_not
from fdbcore.protocols import Endpoint, Vad
from fdbcore.recording.meta import Settings
from fdbcore.recording.reader import Recording
from fdbcore.recording.writer import RecordingWriter
from fdbcore.registry import endpoint, speaker, transcriber
from fdbcore.session.loop import run
from fdbcore.session.vad import EnergyVad, SileroVad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SILENT_FRAME, Pcm, Side, TurnEvent, TurnSettings
from fdbcore.types.tools import ToolCall, ToolResult

Speech: TypeAlias = tuple[int, int]
"""Ticks in which the other side speaks; its start becomes known 26 ticks after it, its end 40."""

LINE_TICKS = 50
KNOWN_START, KNOWN_END = 26, 40


def scripted(folder: Path, text: str) -> ScriptedEndpoint:
    """The party of a script, opened as B; beep.wav is half a second that is nowhere silent."""
    with WavWriter(folder / "beep.wav", channels=1) as wav:
        wav.write(np.where(np.arange(LINE_TICKS * FRAME_SAMPLES) // 40 % 2, 3000, -3000).astype(np.int16))
    (folder / "party.toml").write_text(text)
    party = endpoint(f"scripted:{folder / 'party.toml'}")
    assert isinstance(party, ScriptedEndpoint)
    party.open("B")
    return party


def lines(*cues: str) -> str:
    return "".join(f'[[line]]\nclip = "beep.wav"\n{cue}\n' for cue in cues)


def events_of(other: Sequence[Speech]) -> dict[int, list[TurnEvent]]:
    """The turn events of side A, by the tick at which each becomes known."""
    known: dict[int, list[TurnEvent]] = {}
    for start, end in other:
        known.setdefault(start + KNOWN_START, []).append(
            TurnEvent("speech_start", "A", start, None, start + KNOWN_START)
        )
        known.setdefault(end + KNOWN_END, []).append(TurnEvent("speech_end", "A", start, end, end + KNOWN_END))
    return known


def played(party: Endpoint, other: Sequence[Speech] = (), side: Side = "A", most_ticks: int = 50_000) -> list[Pcm]:
    """What the party says until it leaves."""
    known = events_of(other)
    frames: list[Pcm] = []
    for tick in range(most_ticks):
        frame = party.say(tick)
        if frame is None:
            assert party.left == "finished"
            return frames
        frames.append(frame.copy())
        events = [TurnEvent(e.kind, side, e.start_tick, e.end_tick, e.known_tick) for e in known.get(tick, [])]
        party.notice(tick, events)
    raise AssertionError("it never left")


def spans(frames: Sequence[Pcm]) -> list[Speech]:
    loud = np.array([False, *(bool(frame.any()) for frame in frames), False])
    edges = np.flatnonzero(np.diff(loud)).reshape(-1, 2)
    return [(int(start), int(end)) for start, end in edges]


@pytest.mark.parametrize(
    ("cues", "other", "starts"),
    [
        (["at_s = 0.5", "at_s = 2"], [], [50, 200]),
        (["at_s = 0", "at_s = 0.2"], [], [0, 50]),  # never two at once
        (["at_s = 1", 'after = "own_end"\ndelay_s = 0.3'], [], [100, 180]),
        (['after = "other_end"\ndelay_s = 0.6'], [(10, 100)], [160]),
        (['after = "other_end"\ndelay_s = 0'], [(10, 100)], [141]),  # when it is known, at the earliest
        (['after = "other_end"'], [(10, 100)], [276]),
        (['after = "other_end"'], [(10, 100), (220, 300)], [476]),  # 1.2 s between two sentences
        (['after = "other_end"'] * 2, [(10, 100), (290, 400), (600, 700)], [276, 956]),  # 1.7 s, then 1.9 s
        (['after = "other_end"\ndelay_s = 0.8'], [(10, 100), (150, 200)], [280]),  # that was only a pause
        (
            ['after = "other_end"\ndelay_s = 0.8', 'after = "other_end"\ndelay_s = 0.5'],
            [(10, 100), (300, 350)],
            [180, 400],
        ),
        (
            ["at_s = 1", 'after = "other_end"\ndelay_s = 0.5'],
            [(110, 130), (200, 260)],
            [100, 310],
        ),  # not what fell inside
        (["at_s = 1", 'after = "other_end"\ndelay_s = 0.5'], [(120, 170)], [100, 220]),  # but what outlasted the line
        (['after = "other_start"\ndelay_s = 1.5'], [(30, 300)], [180]),
        (['after = "other_start"'], [(30, 300)], [57]),
        (['after = "other_start"\ndelay_s = 1.5'], [(30, 60), (90, 300)], [180]),  # from its first start
        (["at_s = 1", 'after = "other_start"\ndelay_s = 2'], [(60, 500)], [100, 260]),  # it goes on
        (['after = "other_start"\ndelay_s = 0.5', 'after = "other_start"\ndelay_s = 2'], [(10, 500)], [60, 210]),
        (['after = "other_end"\nor_after_s = 3'], [], [300]),
        (['after = "other_start"\nor_after_s = 3'], [], [300]),
        (['after = "other_end"'], [], [1000]),
        (["at_s = 1", 'after = "other_end"\nor_after_s = 2'], [(10, 5000)], [100, 350]),
        (['after = "other_end"\nor_silent_s = 2.5'], [], [250]),
        (['after = "other_end"\nor_silent_s = 2.5'], [(200, 600)], [776]),  # a greeting is heard to its end
        (["at_s = 1", 'after = "other_end"\nor_silent_s = 2'], [(120, 700)], [100, 876]),  # that went on already
    ],
)
def test_lines_begin_at_their_cues(tmp_path: Path, cues: list[str], other: list[Speech], starts: list[int]) -> None:
    frames = played(scripted(tmp_path, "tail_s = 0.5\n" + lines(*cues)), other)
    assert spans(frames) == _joined([(start, start + LINE_TICKS) for start in starts])
    assert len(frames) == starts[-1] + LINE_TICKS + 50


def _joined(speech: list[Speech]) -> list[Speech]:
    joined = speech[:1]
    for start, end in speech[1:]:
        joined[-1:] = [(joined[-1][0], end)] if start == joined[-1][1] else [joined[-1], (start, end)]
    return joined


def test_own_speech_is_no_cue(tmp_path: Path) -> None:
    party = scripted(tmp_path, lines('after = "other_end"\nor_after_s = 4'))
    assert spans(played(party, [(10, 100)], side="B")) == [(400, 450)]


@pytest.mark.parametrize(
    ("other", "end", "stopped"),
    [([(120 - KNOWN_START, 300)], 130, True), ([(145 - KNOWN_START, 300)], 150, False), ([(20, 300)], 150, False)],
)
def test_a_line_stops_when_it_is_interrupted(tmp_path: Path, other: list[Speech], end: int, stopped: bool) -> None:
    """Interrupted in mid-line; too late to matter; by speech that was there before."""
    party = scripted(tmp_path, "yield_ms = 100\n" + lines("at_s = 1\nstop_when_interrupted = true"))
    frames = played(party, other)
    assert spans(frames) == [(100, end)]
    assert party.log()[1] == (end, "line_end", {"line": 1, "stopped": stopped})
    if stopped:  # faded out, so that it does not click
        assert np.abs(frames[end - 1][-10:]).max() < 100 < np.abs(frames[end - 1][:10]).max()


def test_other_lines_go_on(tmp_path: Path) -> None:
    party = scripted(tmp_path, "yield_ms = 100\n" + lines("at_s = 1"))
    assert spans(played(party, [(110, 300)])) == [(100, 150)]


def test_what_comes_after_a_broken_line_waits_from_there(tmp_path: Path) -> None:
    text = "yield_ms = 100\n" + lines("at_s = 1\nstop_when_interrupted = true", 'after = "other_end"\ndelay_s = 0.6')
    assert spans(played(scripted(tmp_path, text), [(94, 250)])) == [(100, 130), (310, 360)]


def test_the_log_says_which_cue_it_was(tmp_path: Path) -> None:
    party = scripted(tmp_path, lines("at_s = 1", 'after = "other_end"\nor_after_s = 2'))
    played(party)
    assert party.log() == [
        (100, "line_start", {"line": 1, "cue": "at"}),
        (150, "line_end", {"line": 1, "stopped": False}),
        (350, "line_start", {"line": 2, "cue": "or_after"}),
        (400, "line_end", {"line": 2, "stopped": False}),
    ]
    assert party.log() == []


def test_noise_lies_under_all_of_it_and_is_the_same_each_time(tmp_path: Path) -> None:
    text = "noise_dbov = -50\nseed = 7\n" + lines("at_s = 1")
    frames = np.array(played(scripted(tmp_path, text)))
    assert np.array_equal(frames, played(scripted(tmp_path, text)))
    assert not np.array_equal(frames, played(scripted(tmp_path, text.replace("7", "8"))))
    before = frames[:100].astype(float)
    assert 10 * np.log10(np.mean(before**2) / 32768**2) == pytest.approx(-50, abs=0.1)
    quiet = np.array(played(scripted(tmp_path, lines("at_s = 1"))))
    within = frames[100:150].astype(float) - quiet[100:150]
    assert 10 * np.log10(np.mean(within**2) / 32768**2) == pytest.approx(-50, abs=0.1)


@given(
    data=st.data(),
    cues=st.lists(
        st.builds(
            'after = "{}"\ndelay_s = {}\nor_after_s = {}\nstop_when_interrupted = {}'.format,
            st.sampled_from(["other_start", "other_end"]),
            st.integers(0, 2),
            st.integers(0, 3),
            st.sampled_from(["true", "false"]),
        ),
        min_size=1,
        max_size=3,
    ),
    edges=st.lists(st.integers(20, 300), max_size=12),
)
def test_no_script_hangs_or_talks_over_itself(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, cues: list[str], edges: list[int]
) -> None:
    other = [(int(start), int(end)) for start, end in np.cumsum(edges)[: len(edges) // 2 * 2].reshape(-1, 2)]
    party = scripted(tmp_path_factory.mktemp("script"), lines(*cues))
    frames = played(party, other, most_ticks=3 * (300 + LINE_TICKS) + 200 + 1)
    happened = party.log()
    assert [h.kind for h in happened] == ["line_start", "line_end"] * len(cues)
    assert [h.fields["line"] for h in happened[::2]] == list(range(1, len(cues) + 1))
    assert [h.tick for h in happened] == sorted(h.tick for h in happened)
    spoken = [(start.tick, end.tick) for start, end in zip(happened[::2], happened[1::2], strict=True)]
    assert spans(frames) == _joined(spoken)
    for start, end in spoken:
        assert 0 < end - start <= LINE_TICKS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected one \[\[line\]\] or more, got none"),
        ("line = []", r"expected one \[\[line\]\] or more, got none"),
        ("line = 3", r"expected one \[\[line\]\] or more, got 3"),
        ("[[line]\n", r"expected TOML: .*line 1"),
        ("level_dbov = -26\n[[line]]\nat_s = 1", r"line 1: expected one of say, clip and call, got none"),
        (
            lines("at_s = 1") + '[[line]]\nsay = "a"\nclip = "beep.wav"\nat_s = 1',
            r"line 2: expected one of say, clip and call, got say and clip",
        ),
        (lines("delay_s = 1"), r"line 1: expected at_s or after, got neither"),
        (lines('at_s = 1\nafter = "own_end"'), r"line 1: expected at_s or after, got both"),
        (lines('after = "never"'), r"line 1: after: expected one of other_end, .*, own_end, result, got 'never'"),
        (lines('after = "own_end"'), r"line 1: expected another cue than own_end for the first line"),
        (lines('after = "result"'), r"line 1: expected another cue than result for the first line"),
        (
            '[[line]]\ncall = "look"\nsay = "Hm"\nat_s = 1',
            r"line 1: expected one of say, clip and call, got say and call",
        ),
        (
            lines("at_s = 1\narguments = {}"),
            r"line 1: arguments: expected a table of JSON values, or a text, beside call",
        ),
        ('[[line]]\ncall = "look"\narguments = {day = 2026-01-31}\nat_s = 1', r"line 1: arguments: expected a table"),
        (
            '[[line]]\ncall = "look"\narguments = {day = ["$RESULT_0.day"]}\nat_s = 1',
            r"line 1: arguments: expected a value from one of 0 earlier results, such as .*, got '\$RESULT_0.day'",
        ),
        (
            '[[line]]\ncall = "look"\nat_s = 1\n[[line]]\ncall = "look"\narguments = {x = "$RESULT_0[1.a"}\nat_s = 2',
            r"line 2: arguments: expected a value from one of 1 earlier results, such as .*, got '\$RESULT_0\[1.a'",
        ),
        ('[[line]]\ncall = "look"\narguments = {x = inf}\nat_s = 1', r"line 1: arguments: expected a table of JSON"),
        ('[[line]]\ncall = "look"\narguments = [1]\nat_s = 1', r"line 1: arguments: expected a table of JSON"),
        (lines("at_s = -1"), r"line 1: at_s: expected a number from 0 to 3600, got -1"),
        (lines('at_s = "soon"'), r"line 1: at_s: expected a number from 0 to 3600, got 'soon'"),
        (lines("at_s = nan"), r"line 1: at_s: expected a number from 0 to 3600, got nan"),
        (lines("at_s = 1\ndelay_s = 1"), r"line 1: expected settings of say, .*, got 'delay_s'"),
        (lines('after = "own_end"\nor_after_s = 1'), r"line 1: expected settings of say, .*, got 'or_after_s'"),
        (
            lines("at_s = 1", 'after = "own_end"\nor_after_s = 1'),
            r"line 2: expected settings of say, .*, got 'or_after_s'",
        ),
        (lines('at_s = 1\nstop_when_interrupted = "yes"'), r"stop_when_interrupted: expected true or false, got 'yes'"),
        ('[[line]]\nclip = "none.wav"\nat_s = 1', r"line 1: clip: expected an audio file, got none at '.*none.wav'"),
        ("[[line]]\nsay = 3\nat_s = 1", r"line 1: say: expected a text, got 3"),
        ("speed = 3\n" + lines("at_s = 1"), r"toml: expected settings of level_dbov, .*, got 'speed'"),
        ("seeed = 3\n" + lines("at_s = 1"), r"toml: expected settings of .*, got 'seeed'; perhaps seed"),
        (
            "yield_ms = 40.5\n" + lines("at_s = 1"),
            r"toml: yield_ms: expected a whole number from 20 to 60000, got 40.5",
        ),
        ("noise_dbov = 0\n" + lines("at_s = 1"), r"toml: noise_dbov: expected a number from -96 to -30, got 0"),
        ("voice = 'f'\n[[line]]\nsay = 'a'\nat_s = 1", r"toml: voice: expected one of dir, .*, got 'f'"),
        ("language = ''\n" + lines("at_s = 1"), r"toml: language: expected a language such as en or ja, got ''"),
        ("voice = 3\n" + lines("at_s = 1"), r"toml: voice: expected the address of a speaker, got 3"),
        ("[voice]\npitch = 200\n" + lines("at_s = 1"), r"voice: pitch: expected a whole number from 0 to 99, got 200"),
        ("[voice]\nspeed = 1\n" + lines("at_s = 1"), r"voice: expected settings of name, .*, got 'speed'"),
    ],
)
def test_a_wrong_script_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        scripted(tmp_path, text)
    assert "\n" not in str(refused.value)
    assert str(tmp_path / "party.toml") in str(refused.value)


def test_a_script_that_is_not_text_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "party.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="expected TOML: "):
        read_script(tmp_path / "party.toml")
    for name in ("", "nobody", str(tmp_path), str(tmp_path / "none.toml")):
        with pytest.raises(SettingsError, match=r"expected a script \(FILE.toml, or one of caller, clerk\)"):
            endpoint(f"scripted:{name}")


def test_a_line_that_cannot_be_said_is_named_when_it_opens(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"party.toml: line 2: text: expected words"):
        scripted(tmp_path, lines("at_s = 1") + '[[line]]\nsay = "..."\nat_s = 2\n')
    with pytest.raises(SettingsError, match=r"party.toml: line 1: level_dbov: expected at most"):
        scripted(tmp_path, 'level_dbov = -3\n[[line]]\nsay = "Hello."\nat_s = 1\n')


def test_the_whole_script_is_described(tmp_path: Path) -> None:
    text = 'seed = 3\n[voice]\nname = "de"\n' + lines("at_s = 1", 'after = "other_end"\nor_after_s = 3')
    text += "[[line]]\nsay = 'Hallo.'\nat_s = 9\n"
    described = json.loads(json.dumps(scripted(tmp_path, text).describe()))
    assert described["kind"] == "scripted"
    assert described["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert (described["seed"], described["level_dbov"], described["noise_dbov"]) == (3, -26.0, None)
    assert described["synthesiser"]["voice"]["name"] == "de"
    assert [line["or_after_s"] for line in described["lines"]] == [None, 3, None]
    assert described["lines"][0]["clip"] == str(tmp_path / "beep.wav")


def spoken_by(folder: Path, settings: str) -> dict[str, Any]:
    """The description of who speaks a short text."""
    text = f'{settings}\n[[line]]\nsay = "はい。OK."\nat_s = 1\n'
    return dict(scripted(folder, text).describe()["synthesiser"])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("", {"kind": "hibari", "pitch_semitones": 0}),
        ("voice = 'hibari:heart?speed=1.2'", {"kind": "hibari", "pitch_semitones": 0, "speed": 1.2}),
        ("language = 'fr'", {"kind": "espeak-ng", "voice": {"name": "fr", "words_per_minute": 175, "pitch": 50}}),
        ("voice = 'espeak-ng:en-us+f2'", {"voice": {"name": "en-us+f2", "words_per_minute": 175, "pitch": 50}}),
        ("[voice]\npitch = 40", {"voice": {"name": "en-us", "words_per_minute": 175, "pitch": 40}}),
    ],
)
def test_the_language_chooses_the_voice_unless_one_is_named(
    tmp_path: Path, settings: str, expected: dict[str, Any]
) -> None:
    described = spoken_by(tmp_path, settings)
    assert {name: described[name] for name in expected} == expected


def test_japanese_is_spoken_by_open_jtalk(tmp_path: Path) -> None:
    pytest.importorskip("pyopenjtalk", reason="needs Open JTalk (pip install 'fdbcore[ja]')")
    assert spoken_by(tmp_path, "language = 'ja'")["kind"] == "open-jtalk"


def test_a_voice_that_is_not_there_is_an_error_and_no_other_voice_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FDBCORE_MODELS", str(tmp_path))
    with pytest.raises(MissingExtraError, match="fdbcore models get hibari"):
        endpoint("scripted:caller")


@pytest.mark.parametrize(("name", "pitch_semitones"), [("caller", 0), ("clerk", -4)])
def test_both_sides_of_the_call_that_ships_are_understood(
    name: str, pitch_semitones: float, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("faster_whisper", reason="needs faster-whisper (pip install 'fdbcore[local]')")
    if why_not(packaged("whisper")) is not None:
        pytest.skip("needs the model: fdbcore models get whisper")
    described = endpoint(f"scripted:{name}").describe()
    texts = [line["say"] for line in described["lines"]]
    speaks = speaker(described["voice"])
    pause = np.zeros(SAMPLE_RATE_HZ // 2, np.int16)
    speech = np.concatenate([part for text in texts for part in (without_edges(*speaks.speak("x", text)), pause)])
    heard = transcriber("whisper").transcribe(wav_bytes(speech, SAMPLE_RATE_HZ), "en")
    rate = word_error_rate(" ".join(texts), heard)
    with capsys.disabled():
        print(f"\n{name}: word error rate {rate:.3f}: {heard}")
    assert rate < 0.1
    assert described["synthesiser"]["pitch_semitones"] == pitch_semitones


CALLING = """
tail_s = 0.5
[[line]]
call = "search"
arguments = {city = "Paris", nights = 2}
at_s = 0.2
[[line]]
call = "search"
arguments = {city = "Rome"}
after = "own_end"
[[line]]
call = "book"
arguments = {first = "$RESULT_0.hotels[1].id", all = ["$RESULT_1"], none = "$RESULT_1.hotels[9]", price = "$5"}
after = "result"
delay_s = 0.1
[[line]]
clip = "beep.wav"
after = "result"
delay_s = 0.2
or_after_s = 1
"""


def calling(folder: Path, text: str = CALLING) -> ScriptedEndpoint:
    (folder / "calling.toml").write_text(text)
    with WavWriter(folder / "beep.wav", channels=1) as wav:
        wav.write(np.where(np.arange(LINE_TICKS * FRAME_SAMPLES) // 40 % 2, 3000, -3000).astype(np.int16))
    party = endpoint(f"scripted:{folder / 'calling.toml'}")
    assert isinstance(party, ScriptedEndpoint)
    return party


def test_lines_call_tools_at_their_cues_with_values_of_earlier_results(tmp_path: Path) -> None:
    party = calling(tmp_path)
    party.take_tools([])
    party.open("B")
    made: list[tuple[int, ToolCall]] = []
    spoke: list[int] = []
    for tick in range(300):
        frame = party.say(tick)
        if frame is None:
            break
        spoke += [tick] if frame.any() else []
        made += [(tick, call) for call in party.tool_calls()]
        if tick == 40:
            hotels = {"hotels": [{"id": 7}, {"id": 8}]}
            party.take_result(tick, ToolResult("call-1", "search", "ok", {"hotels": []}))
        if tick == 60:
            party.take_result(tick, ToolResult("call-0", "search", "ok", hotels))
    assert made == [
        (20, ToolCall("complete", "call-0", "search", {"city": "Paris", "nights": 2})),
        (20, ToolCall("complete", "call-1", "search", {"city": "Rome"})),
        (
            70,
            ToolCall(
                "complete",
                "call-2",
                "book",
                {"first": 8, "all": [{"hotels": []}], "none": "$RESULT_1.hotels[9]", "price": "$5"},
            ),
        ),
    ]
    assert spoke == list(range(170, 170 + LINE_TICKS))  # or_after_s: the last call has no result
    starts = [(h.tick, h.fields["line"], h.fields["cue"]) for h in party.log() if h.kind == "line_start"]
    assert starts == [(20, 1, "at"), (20, 2, "own_end"), (70, 3, "result"), (170, 4, "or_after")]


def test_a_script_that_calls_tools_needs_some(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"calling.toml: line 1 calls a tool, but side B has no tools"):
        calling(tmp_path).open("B")


def test_lines_without_calls_are_described_without_them(tmp_path: Path) -> None:
    text = CALLING + lines("at_s = 1")
    described = json.loads(json.dumps(calling(tmp_path, text).describe()))["lines"]
    assert described[1]["call"] == "search"
    assert described[1]["arguments"] == {"city": "Rome"}
    assert not {"call", "arguments"} & described[-1].keys()


class Far(Endpoint):
    """A party that is heard some ticks late, as if over a network."""

    def __init__(self, party: Endpoint, ticks: int) -> None:
        self._party = party
        self._under_way: deque[Pcm | None] = deque([SILENT_FRAME] * ticks)

    def open(self, side: Side) -> None:
        self._party.open(side)

    def say(self, tick: int) -> Pcm | None:
        self._under_way.append(self._party.say(tick))
        return self._under_way.popleft()

    def hear(self, tick: int, frame: Pcm) -> None:
        self._party.hear(tick, frame)

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        self._party.notice(tick, events)

    def log(self) -> Sequence[Any]:
        return self._party.log()

    def describe(self) -> Mapping[str, Any]:
        return self._party.describe()


def call(path: Path, a_late_ticks: int, b_late_ticks: int, vad: Callable[[], Vad]) -> Recording:
    """The call that ships, on the virtual clock."""
    a, b = Far(endpoint("scripted:caller"), a_late_ticks), Far(endpoint("scripted:clerk"), b_late_ticks)
    a.open("A")
    b.open("B")
    settings = TurnSettings()
    kept: Settings = {"turns": asdict(settings), "vad": {"A": {}, "B": {}}}
    with RecordingWriter(path, {"settings": kept}, keep_audio=True) as recording:
        run(a, b, VirtualClock(), (vad(), vad()), settings, recording)
    return Recording(path)


@pytest.mark.parametrize(
    ("a_late", "b_late", "vad"), [(0, 0, SileroVad), (6, 15, EnergyVad), (15, 6, EnergyVad), (15, 15, EnergyVad)]
)
def test_the_call_that_ships(tmp_path: Path, a_late: int, b_late: int, vad: Callable[[], Vad]) -> None:
    """Two backchannels, a correction and an interruption that is yielded to, near or up to 150 ms away."""
    recording = call(tmp_path / "call", a_late, b_late, vad)
    assert 32 < recording.n_ticks / 100 < 37
    logged = recording.events
    starts = {(e["side"], e["line"]): e for e in logged if e["kind"] == "line_start"}
    assert len(starts) == 12
    assert "or_after" not in {start["cue"] for start in starts.values()}
    assert [(e["side"], e["line"]) for e in logged if e["kind"] == "line_end" and e["stopped"]] == [("B", 4)]

    found = recording.turn_events
    backchannels = [e for e in found if e.kind == "intrusion" and e.side == "B"]
    assert [(e.onset, e.outcome, e.terminal) for e in backchannels] == [("overlap", "kept", False)] * 2
    (interruption,) = (e for e in found if e.kind == "intrusion" and e.side == "A")
    assert (interruption.onset, interruption.outcome, interruption.terminal) == ("overlap", "taken", False)
    assert abs(interruption.start_tick - starts["A", 4]["tick"] - a_late) <= 3
    assert interruption.stop_ticks is not None
    assert 40 <= interruption.stop_ticks <= 75
    pauses = [e for e in found if e.kind == "pause" and e.side == "A"]
    correction = starts["A", 3]["tick"] + a_late
    assert any(e.end_tick is not None and abs(e.end_tick - correction) <= 3 for e in pauses)
    assert [e.side for e in found if e.kind in ("gap", "overlap_between")] == ["A", "B", "A", "B", "A", "B", "A"]


def test_the_call_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = (call(tmp_path / name, 0, 0, EnergyVad) for name in ("first", "second"))
    assert first.turn_events == second.turn_events
    assert (first.path / "session.wav").read_bytes() == (second.path / "session.wav").read_bytes()
    assert (first.path / "session.wav").stat().st_size > 25 * SAMPLE_RATE_HZ * 4
