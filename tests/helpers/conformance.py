"""What every endpoint is held to. Derive from one of the classes, in a file of your tests:

    class TestMine(RemoteConformance):
        @contextmanager
        def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
            with MyFakeServer(behaviour) as server:
                yield Mine(server.url, token=SECRET, timeout_s=timeout_s)

`EndpointConformance` is for any party, `RemoteConformance` for one that is reached over a connection,
`BurstConformance` for one whose system can take back what it has sent.
"""

import asyncio
import json
import os
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from helpers.patience import PATIENCE_S

from fdbcore.clock import MonotonicClock, VirtualClock
from fdbcore.errors import PartyError
from fdbcore.protocols import Clock, Endpoint
from fdbcore.runtime.network import event_loop
from fdbcore.types import FRAME_SAMPLES, SILENT_FRAME, Happening, Pcm, TurnEvent
from fdbcore.types.usage import USAGE, ModelUsage

Behaviour = Literal["talks", "mute", "late", "hangs", "refuses", "closes", "takes back"]
"""What the system behind the party does, its time-out for getting ready being half a second or more:

talks: is ready at once, and then says something within a second of being spoken to.
mute: is ready at once, and says nothing but silence.
late: as `talks`, but it is ready only after 0.3 s.
hangs: takes the connection, and is never ready.
refuses: does not take the connection, or takes it and turns the party away.
closes: as `talks`, but after at least 0.2 s of speech, and within 2 s, it breaks off without a farewell.
takes back: sends 20 s of speech at once as it hears its first frame, and takes back what was not yet said as it
    hears its thirtieth.
"""

SECRET = "conformance-secret"
"""Use it wherever the party takes a key, a token, a password: it must not be found in what is written down."""

TURN = TurnEvent("speech_start", "A", start_tick=0, end_tick=None, known_tick=3)
PROMPT_S = 30.0
"""What should be prompt has happened within it even on a busy machine; far below the time-outs it must not wait for."""


CODEC_NOISE = 32
"""What may be left of digital silence after a lossy codec: -60 dBov."""


@dataclass
class Heard:
    """What a party said, and did at its edge."""

    frames: list[Pcm] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    ended: bool = False

    @property
    def audio(self) -> Pcm:
        """All frames in a row."""
        audio: Pcm = np.array(self.frames, dtype=np.int16).ravel()
        return audio


def tone(tick: int) -> Pcm:
    """The frame of `tick` of 441.7 Hz, no two alike for 10 s, loud enough for any detector."""
    samples = np.arange(tick * FRAME_SAMPLES, (tick + 1) * FRAME_SAMPLES)
    frame: Pcm = (8000 * np.sin(2 * np.pi * 441.7 / 48_000 * samples)).astype(np.int16)
    return frame


def clock_for(party: Endpoint) -> Clock:
    """Real time for a party that needs it."""
    return MonotonicClock(spin_ns=0) if party.clocking in ("burst", "realtime") else VirtualClock()


def hold(
    party: Endpoint,
    ticks: int,
    clock: Clock | None = None,
    speech: Callable[[int], Pcm] = tone,
    enough: Callable[[Heard], bool] = lambda heard: False,
) -> Heard:
    """Talk to an open party for at most so many ticks, as the loop does, and check what holds in every tick."""
    clock = clock or clock_for(party)
    heard = Heard()
    for tick in range(ticks):
        clock.wait(tick)
        if tick == 0:
            party.start(clock.origin_ns)
        said = party.say(tick)
        if said is None:
            heard.ended = True
            assert party.left, "a party that has left says why"
            heard.happenings += party.log()
            break
        assert said.shape == (FRAME_SAMPLES,)
        assert said.dtype == np.int16
        assert said.flags.c_contiguous
        kept = said.copy()
        party.hear(tick, speech(tick))
        if tick == TURN.known_tick:
            party.notice(tick, [TURN])
        assert np.array_equal(said, kept), "the partner is given a frame after the party itself has heard"
        heard.frames.append(kept)
        heard.happenings += party.log()
        if enough(heard):
            break
    return heard


def silence(tick: int) -> Pcm:
    """Nothing."""
    return SILENT_FRAME


def numbered(tick: int) -> Pcm:
    """A frame that tells its tick: loud for 0.6 s of each second, else as good as silent."""
    frame: Pcm = np.full(FRAME_SAMPLES, 8000 if tick % 100 < 60 else 0, dtype=np.int16)
    frame[:3] = tick // 1024, tick // 32 % 32, tick % 32
    return frame


def lag_ticks(heard: Heard) -> int | None:
    """By how many ticks the last frame of an echo to `numbered` came late; None if there was none."""
    high, middle, low = heard.frames[-1][:3].tolist()
    return len(heard.frames) - 1 - (high * 1024 + middle * 32 + low) if heard.frames[-1].any() else None


class Recovery:
    """Enough for `hold`: an echo came late by a hold-up of 150 ms, and then no more."""

    def __init__(self) -> None:
        self.most_ticks = 0
        self.is_over = False

    def __call__(self, heard: Heard) -> bool:
        lag = lag_ticks(heard) or 0
        self.most_ticks = max(self.most_ticks, lag)
        self.is_over = self.most_ticks >= 10 and 0 < lag <= 2
        return self.is_over


def spoke(heard: Heard) -> bool:
    """Whether the last frame was not silent."""
    return bool(heard.frames[-1].any())


def asks_twice(tick: int) -> Pcm:
    """Two short words with silence between and after them, for a system that answers once its partner is silent.

    The second comes after 0.56 s, while such a system may well be answering the first.
    """
    return tone(tick) if tick < 20 or 56 <= tick < 66 else SILENT_FRAME


class EndpointConformance:
    """What holds for any party. speech: what it is told."""

    speech: Callable[[int], Pcm] = staticmethod(tone)

    @abstractmethod
    def party(self, behaviour: Behaviour, timeout_s: float) -> AbstractContextManager[Endpoint]:
        """An endpoint, made but not opened, with whatever it talks to. Here only `talks` is asked for.

        timeout_s: how long the endpoint is to wait for the system to be ready.
        """

    @contextmanager
    def opened(self, behaviour: Behaviour = "talks") -> Iterator[Endpoint]:
        with self.party(behaviour, 10) as party:
            try:
                party.open("B")
                yield party
            finally:
                party.close()

    def test_every_tick_has_one_frame_until_the_end(self) -> None:
        with self.opened() as party:
            heard = hold(party, 30, speech=self.speech)
            if heard.ended:
                assert [party.say(tick) for tick in range(len(heard.frames), 30)] == [None] * (30 - len(heard.frames))

    def test_ticks_may_be_missed(self) -> None:
        with self.opened() as party:
            clock = MonotonicClock(spin_ns=0)  # only real time can be missed
            for tick in (0, 1, 9, 10, 25, 26):
                clock.wait(tick)
                if tick == 0:
                    party.start(clock.origin_ns)
                said = party.say(tick)
                assert said is None or said.shape == (FRAME_SAMPLES,)
                party.hear(tick, tone(tick))

    def test_what_is_written_down_is_json_and_tells_no_secret(self) -> None:
        with self.party("talks", 10) as party:
            before, services = party.describe(), [service.to_json() for service in party.services()]
            try:
                party.open("B")
                heard = hold(party, 120, speech=self.speech)
                told = [h._asdict() for h in heard.happenings]
                written = [before, services, party.describe(), party.measured(), *told]
            finally:
                party.close()
        assert isinstance(before["kind"], str)
        assert all(service["host"] for service in services), "a run says where its audio goes before it begins"
        usages = [ModelUsage.from_json(h.fields) for h in heard.happenings if h.kind == USAGE]
        assert all(usage.counts or usage.due for usage in usages)
        assert all(count > 0 for usage in usages for count in usage.counts.values())
        text = json.dumps(written, allow_nan=False)
        assert SECRET not in text
        assert all(type(h.tick) is int and h.tick >= 0 and isinstance(h.kind, str) for h in heard.happenings)
        assert not any({"tick", "side", "kind"} & set(h.fields) for h in heard.happenings)

    def test_the_same_twice_in_lockstep(self) -> None:
        heard = []
        for _ in range(2):
            with self.opened() as party:
                if party.clocking in ("tick", "input"):
                    heard.append(hold(party, 60, VirtualClock()))
        if heard:
            assert np.array_equal(heard[0].audio, heard[1].audio)
            assert heard[0].happenings == heard[1].happenings

    def test_closing_leaves_nothing(self) -> None:
        def converse() -> None:
            with self.opened() as party:
                hold(party, 20)

        assert_leaves_nothing(converse)

    def test_closing_what_was_never_opened(self) -> None:
        with self.party("talks", 10) as party:
            party.close()

    def test_closing_what_was_opened_and_never_started(self) -> None:
        def meet() -> None:
            with self.opened():
                pass

        assert_leaves_nothing(meet)


class RemoteConformance(EndpointConformance):
    """What holds for a party that has to be reached. `party` is asked for all behaviours but "takes back"."""

    def test_a_system_that_talks_is_heard(self) -> None:
        with self.opened() as party:
            heard = hold(party, 300, speech=self.speech, enough=spoke)
        assert heard.audio.any()

    def test_a_system_that_says_nothing_is_silent(self) -> None:
        with self.opened("mute") as party:
            heard = hold(party, 40, speech=silence)
        assert len(heard.frames) == 40
        assert np.abs(heard.audio).max() <= CODEC_NOISE

    def test_a_late_system_is_waited_for(self) -> None:
        with self.opened("late") as party:
            heard = hold(party, 300, speech=self.speech, enough=spoke)
        assert heard.audio.any()

    @pytest.mark.parametrize("behaviour", ["hangs", "refuses"])
    def test_a_system_that_cannot_be_had(self, behaviour: Behaviour) -> None:
        def fail() -> None:
            with self.party(behaviour, 0.5) as party:
                try:
                    with pytest.raises(PartyError) as error:
                        party.open("B")
                finally:
                    party.close()
            message = str(error.value)
            assert message
            assert "\n" not in message
            assert SECRET not in message

        assert_leaves_nothing(fail)

    def test_a_system_that_breaks_off(self) -> None:
        def converse() -> None:
            with self.opened("closes") as party:
                heard = hold(party, 1500, speech=self.speech)
                assert heard.ended
                assert heard.audio.any(), "what came before the break was heard"
                assert party.left not in (None, "", "finished")
                assert "\n" not in str(party.left)
                last = len(heard.frames)
                party.hear(last, tone(last))
                assert [party.say(tick) for tick in range(last + 1, last + 20)] == [None] * 19
                party.log()
                json.dumps(party.measured(), allow_nan=False)

        assert_leaves_nothing(converse)

    def test_closing_ends_the_wait_for_a_system(self) -> None:
        def give_up() -> None:
            with self.party("hangs", 60) as party, ThreadPoolExecutor(1) as pool:
                opening = pool.submit(party.open, "B")
                time.sleep(0.2)
                party.close()
                assert isinstance(opening.exception(PROMPT_S), PartyError)

        assert_leaves_nothing(give_up)


class BurstConformance(RemoteConformance):
    """What holds for a party that sends ahead, and may take it back. `party` is asked for all behaviours."""

    def test_what_is_taken_back_is_not_heard(self) -> None:
        with self.opened("takes back") as party:
            heard = hold(party, 120, speech=self.speech)
        speaks = [bool(frame.any()) for frame in heard.frames]
        assert any(speaks)
        assert not any(speaks[-50:])
        assert [h.kind for h in heard.happenings].count("flush") == 1


def assert_leaves_nothing(act: Callable[[], Any]) -> None:
    """Afterwards there are no more threads, tasks, child processes and open sockets or pipes than before."""
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), event_loop()).result()
    before = _alive()
    act()
    deadline = time.monotonic() + PATIENCE_S
    while (left := _alive() - before) and time.monotonic() < deadline:
        time.sleep(0.01)  # the other end of a connection may take a moment
    assert not left, left


def _alive() -> set[str]:
    threads = {f"thread {thread.name}" for thread in threading.enumerate()}
    tasks = {f"task {task.get_name()}" for task in asyncio.all_tasks(event_loop())}
    return threads | tasks | set(_children()) | set(_open_files())


def _children() -> Iterator[str]:
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has ended meanwhile
            yield from (f"process {child}" for child in (task / "children").read_text().split())


def _open_files() -> Iterator[str]:
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if target.startswith(("socket:", "pipe:", "anon_inode:[pidfd]")):
            yield target
