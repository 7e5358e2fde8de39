"""A command as a party: the scripts that people will write, and those that go wrong."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
from fakes.parties import Caller, Speaker
from helpers.commands import is_running
from helpers.conformance import Heard, Recovery, assert_leaves_nothing, hold, numbered, silence, tone
from helpers.exec_scripts import script
from helpers.patience import PATIENCE_S, wait_until

from fdbcore.clock import MonotonicClock, VirtualClock, now_ns
from fdbcore.endpoints.exec import MOST_QUEUED_SAMPLES, command
from fdbcore.errors import PartyError
from fdbcore.measures.call_warnings import call_warnings
from fdbcore.protocols import Endpoint
from fdbcore.recording.files import AUDIO, EVENTS, TURNS
from fdbcore.registry import endpoint
from fdbcore.runtime.network import await_result
from fdbcore.runtime.redaction import secret
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_BYTES, FRAME_SAMPLES


@contextmanager
def running(address: str) -> Iterator[Endpoint]:
    """The party, open."""
    party = command(address)
    try:
        party.open("B")
        yield party
    finally:
        party.close()


def names(heard: Heard) -> list[int]:
    """Which of the numbered frames were said."""
    return [int(frame[0]) for frame in heard.frames if frame.any()]


def said_on_stderr(heard: Heard, line: str) -> bool:
    return any(h.fields.get("data") == line for h in heard.happenings)


NUMBERED = "frames = [n.to_bytes(2, 'little') * 480 for n in range(1, 3001)]\n"


def test_frame_by_frame_without_a_thought_for_buffers() -> None:
    with running(script("while True: write(read())")) as party:
        heard = hold(party, 20, VirtualClock())
    assert [frame.tobytes() for frame in heard.frames[1:]] == [tone(tick).tobytes() for tick in range(19)]


def test_in_steps() -> None:
    with running(script("while True: write(read(8))", "step_ms=80")) as party:
        heard = hold(party, 40, VirtualClock())
        assert party.measured()["dropped_samples"] == 8 * FRAME_SAMPLES
    assert [frame.tobytes() for frame in heard.frames[8:]] == [tone(tick).tobytes() for tick in range(32)]
    assert not heard.audio[: 8 * FRAME_SAMPLES].any()


def test_live_it_is_the_same_command() -> None:
    def answered(heard: Heard) -> bool:
        return heard.frames[-1].tobytes() == tone(1).tobytes()

    with running(script("while True: write(read())")) as party:
        assert answered(hold(party, 300, MonotonicClock(spin_ns=0), enough=answered))


@pytest.mark.live
def test_live_a_hold_up_of_150_ms_does_not_stay_and_is_told() -> None:
    code = "for n in range(10**6):\n    if n == 100: time.sleep(0.15)\n    write(read())"
    recovery = Recovery()
    with running(script(code)) as party:
        heard = hold(party, 3000, MonotonicClock(spin_ns=0), numbered, recovery)
        measured = party.measured()
    assert recovery.is_over
    assert measured["slipped_samples"] >= 10 * FRAME_SAMPLES
    assert measured["out_delay_samples"] == 0
    told = [h for h in heard.happenings if h.kind == "delay"]
    assert [{"tick": h.tick, **h.fields} for h in told] == measured["delay_changes"]
    assert told[0].fields["why"] == "anchor"
    most_samples = max(h.fields["delay_samples"] for h in told)
    assert most_samples > 10 * FRAME_SAMPLES > measured["delay_samples"]


@pytest.mark.live
def test_a_hold_up_of_more_than_half_a_second_is_told_before_any_figure(tmp_path: Path) -> None:
    code = "for n in range(10**6):\n    if n == 100: time.sleep(0.8)\n    write(read())"
    settings = LiveSettings(vad="energy", max_s=3.0)
    held = converse(Speaker([True] * 300), endpoint(script(code)), tmp_path / "call", settings, {}, Event())
    (told,) = [text for text in call_warnings(held) if "of B's audio" in text]
    assert re.search(r"up to 0\.[78] s of it in one piece", told)
    assert held.original_meta["timing"]["sides"]["B"]["longest_loss_samples"] >= 0.7 * 48_000


def test_a_player_is_heard_from_tick_0_and_finishes() -> None:
    with running(script(NUMBERED + "write(b''.join(frames[:40]))", "clocking=burst")) as party:
        time.sleep(0.1)
        heard = hold(party, 200)
        assert party.left == "finished"
    assert names(heard) == list(range(2, 41))  # the first has told that it is ready


def test_who_writes_ahead_has_to_wait() -> None:
    with running(script(NUMBERED + "write(b''.join(frames))\nread(9000)", "clocking=burst")) as party:
        heard = hold(party, 40)
        queued_samples = party.measured()["queued_samples"]
    assert names(heard) == list(range(2, 2 + len(names(heard))))
    assert queued_samples <= MOST_QUEUED_SAMPLES + FRAME_SAMPLES


def test_standard_error_is_logged_in_lines_of_bounded_length() -> None:
    code = "write(read())\nfor line in ('hällo', 'x' * 2000, 'end'): print(line, file=sys.stderr)\n"
    with running(script(code + "while True: write(read())")) as party:
        heard = hold(party, 5000, VirtualClock(), enough=lambda heard: said_on_stderr(heard, "end"))
    lines = [h.fields["data"] for h in heard.happenings if h.fields.get("name") == "stderr"]
    assert lines[0] == "hällo"
    assert lines[-1] == "end"
    assert "".join(lines[1:-1]) == "x" * 2000
    assert all(len(line) < 1000 for line in lines)


def test_a_line_of_json_tells_what_it_says() -> None:
    told: list[dict[str, object]] = [{"text": "Häll\n" * 400, "start_ms": 40}, {"text": "Bye."}]
    others = ['{"type": "text", "text"', '{"level": "info"}', "[]", '{"type": "flush"}', "no room"]
    lines = [*(json.dumps({"type": "text"} | each) for each in told), *others, '{"type": "text", "text": "Late."}']
    code = f"for _ in range(5): write(read())\nfor line in {lines!r}: print(line, file=sys.stderr)\nread(); os._exit(3)"
    with running(script(code)) as party:
        heard = hold(party, 200, VirtualClock())
        assert party.left == "exited with code 3: no room", "what it says is no reason"
    events = [(h.fields["name"], h.fields["data"]) for h in heard.happenings if h.kind == "event"]
    assert events == [("text", each) for each in told] + [("stderr", line) for line in others] + [
        ("text", {"text": "Late."})
    ]


def test_no_secret_is_cut_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUT_API_KEY", "hush-hush-hush-hush")
    value = secret("CUT_API_KEY")
    code = f"write(read())\nfor n in range(480, 500): print('x' * n + ' {value} ' + 'y' * 600, file=sys.stderr)\n"
    with running(script(code + "print('end', file=sys.stderr)\nwhile True: write(read())")) as party:
        heard = hold(party, 5000, VirtualClock(), enough=lambda heard: said_on_stderr(heard, "end"))
    told = [str(h.fields["data"]) for h in heard.happenings if h.fields.get("name") == "stderr"]
    assert "hush" not in "".join(told)
    assert sum(line.count("***") for line in told) == 20
    assert all(len(line) < 1100 for line in told)


@pytest.mark.parametrize(
    ("ending", "left"),
    [
        ("sys.exit(0)", "finished"),
        ("sys.exit(3)", "exited with code 3"),
        ("print('no memory', file=sys.stderr); os._exit(3)", "exited with code 3: no memory"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
        (
            "write(b'x' * 500); os._exit(0)",
            "its output ended in mid-frame, with 500 bytes of 960; it exited with code 0",
        ),
    ],
)
def test_why_it_left(ending: str, left: str) -> None:
    with running(script(f"for _ in range(5): write(read())\nread()\n{ending}")) as party:
        heard = hold(party, 200, VirtualClock())
        assert heard.ended
        assert party.left == left
    assert len(names(heard)) == 4  # of five answers one was to the silence before tick 0


@pytest.mark.parametrize(
    ("last_words", "kind", "reason"),
    [
        ("", "done", None),
        ("sys.exit(3)", "failed", "exited with code 3"),
        ("write(b'x')", "failed", "its output ended in mid-frame, with 1 bytes of 960; it exited with code 0"),
    ],
)
def test_how_it_ends_with_its_input_belongs_to_the_conversation(
    tmp_path: Path, last_words: str, kind: str, reason: str | None
) -> None:
    code = f"while len(frame := sys.stdin.buffer.read({FRAME_BYTES})) == {FRAME_BYTES}: write(frame)\n{last_words}"
    settings = LiveSettings(vad="energy", realtime=False)
    held = converse(
        Caller([tick % 50 >= 20 for tick in range(100)]), endpoint(script(code)), tmp_path, settings, {}, Event()
    )
    assert (held.n_ticks, held.meta["outcome"]["kind"], held.meta["outcome"]["reason"]) == (100, kind, reason)


def test_who_answers_more_than_it_heard_has_left() -> None:
    with running(script("write(read())\nwhile True: write(read() * 2)")) as party:
        assert hold(party, 10, VirtualClock()).ended
        assert re.fullmatch(r"answered \d+ frames of \d+ that it heard", str(party.left))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("exec:no-such-command-anywhere", "exec: no-such-command-anywhere: No such file or directory"),
        ("exec:/etc", "exec: /etc: Permission denied"),
        ("exec:true", "exec: true: left before tick 0: exited with code 0"),
        ("exec:sh -c 'echo no model >&2; exit 3'", "exec: sh: left before tick 0: exited with code 3: no model"),
        ("exec:sh -c 'echo Loading; exec cat'", "its standard output must hold only frames"),
        ("exec:head -c 960 /dev/zero", "exec: head: left before tick 0: exited with code 0"),
        ("exec:clocking=burst head -c 500 /dev/zero", "exec: head: left before tick 0: its output ended in mid-frame"),
        ("exec:timeout_s=1 sleep 60", "exec: sleep: no frame within 1 s; it is ready once it has written one"),
    ],
)
def test_a_command_that_cannot_be_had(address: str, message: str) -> None:
    def fail() -> None:
        with pytest.raises(PartyError) as error, running(address):
            pass
        assert message in str(error.value)
        assert "\n" not in str(error.value)

    assert_leaves_nothing(fail)


def test_who_does_not_answer_in_lockstep_has_left() -> None:
    with running(script("write(read())\nwhile True: read()", "timeout_s=5")) as party:
        heard = hold(party, 5, VirtualClock())
        assert len(heard.frames) == 1
        assert party.left == "no answer to the frame of tick 0 within 5 s"


def test_who_stops_reading_has_left() -> None:
    with running(script("write(read())\ntime.sleep(60)")) as party:
        party.start(now_ns())
        for tick in range(5000):
            party.hear(tick, tone(tick))
            if tick % 100 == 0:
                await_result(asyncio.sleep(0.001), PATIENCE_S)
            if party.say(tick) is None:
                break
        assert party.left == "stopped reading: 3 s of audio wait to be sent"


def test_a_stubborn_family_is_gone_in_the_end(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
with open({str(pids)!r}, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
if child:
    write(read())
time.sleep(600)
"""

    def live_and_die() -> None:
        with running(script(code)) as party:
            hold(party, 1, VirtualClock())

    assert_leaves_nothing(live_and_die)
    family = [int(pid) for pid in pids.read_text().split()]
    assert len(family) == 2
    wait_until(lambda: not any(map(is_running, family)))


@pytest.mark.parametrize("kind", ["exec", "far:exec"])
def test_who_ignores_the_end_of_its_input_does_not_outlive_us(tmp_path: Path, kind: str) -> None:
    pid = tmp_path / "pid"
    stubborn = f"""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open({str(pid)!r}, "w") as file:
    file.write(f"{{os.getpid()}}\\n")
while True:
    frame = sys.stdin.buffer.read({FRAME_BYTES})
    if len(frame) < {FRAME_BYTES}: time.sleep(600)
    write(frame)
"""
    address = script(stubborn).replace("exec:", f"{kind}:", 1)
    holding = "import sys, time; from fdbcore.registry import endpoint; party = endpoint(sys.argv[1]); party.open('B');"
    with subprocess.Popen(
        [sys.executable, "-c", f"{holding} print(flush=True); time.sleep(600)", address], stdout=-1
    ) as us:
        assert us.stdout is not None
        us.stdout.readline()
        wait_until(lambda: pid.is_file() and pid.read_text().endswith("\n"))  # far: it starts while we go on
        assert us.poll() is None
        us.kill()
    child = int(pid.read_text())
    wait_until(lambda: not is_running(child))


def test_it_is_told_its_side_and_its_words_are_split_as_by_a_shell() -> None:
    code = "write(read())\nprint(os.environ['FDBCORE_SIDE'], sys.argv[1:], file=sys.stderr)\nread()\n"
    with running(script(code) + " 'two words' $HOME") as party:
        heard = hold(party, 100, VirtualClock(), speech=silence)
    assert said_on_stderr(heard, "B ['two words', '$HOME']")


def test_settings_precede_the_command() -> None:
    party = endpoint("exec:clocking=burst timeout_s=7 model --api-key hunter2 TOKEN=hunter2 --name=x y=1")
    assert party.clocking == "burst"
    assert party.describe() == {
        "kind": "exec",
        "command": ["model", "--api-key", "***", "TOKEN=***", "--name=x", "y=1"],
        "clocking": "burst",
        "step_ms": 10,
        "timeout_s": 7,
    }


def test_in_lockstep_a_conversation_is_the_same_again(tmp_path: Path) -> None:
    address = script(
        "import array\nwhile True: write(array.array('h', [s // 2 for s in array.array('h', read())]).tobytes())"
    )
    settings = LiveSettings(vad="energy", max_s=3, realtime=False)
    player = script(
        NUMBERED.replace("n.to_bytes(2, 'little')", "(n % 99 * 200).to_bytes(2, 'little')")
        + "\nwrite(read())\nfor frame in frames: read(); write(frame)"
    )
    runs = [
        converse(endpoint(player), endpoint(address), tmp_path / str(run), settings, {"reason": "one"}, Event())
        for run in range(2)
    ]
    assert runs[0].n_ticks == 300
    for name in (AUDIO, EVENTS, TURNS):
        assert (runs[0].path / name).read_bytes() == (runs[1].path / name).read_bytes()
    assert os.path.getsize(runs[0].path / AUDIO) > 300 * FRAME_BYTES * 2
