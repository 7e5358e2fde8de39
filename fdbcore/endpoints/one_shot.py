"""Language models that hear a whole utterance and reply once, as parties of a conversation.

    gemini:NAME
    openai-chat:NAME?base_url=http://localhost:8000/v1&pause_ms=1500&system=@FILE&user=TEXT

The model is sent everything it has heard since tick 0, at 24 kHz; with `hears=recording` the file that the other side
played, sample for sample, if what was heard is that file to its end, and silence. Live, the request runs outside the
ticks, and the reply starts in the tick after it arrives. On a clock that never waits, the reply starts in the tick of
the request, so compute time is not counted. A reply without a voice is logged, and stays silent.

If the model refuses, that is its answer, and is logged. So is what there is of an answer that reached its limit of
tokens; the call has failed, and may be held again. If the server is down or fails, another call may ask again;
live, this call does not wait. A wrong key or an unknown model is the user's error, and ends the run.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Thread
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from fdbcore import registry
from fdbcore._ext.resample import Resampler
from fdbcore.audio.wav import wav_bytes
from fdbcore.clock import now_ns
from fdbcore.errors import AudioError, CutOffError, PartyError, RefusalError, SettingsError
from fdbcore.models.account import SETTINGS as MODEL_SETTINGS
from fdbcore.models.tts.folder import read_mono
from fdbcore.models.vendor import VendorModel
from fdbcore.protocols import Clocking, Endpoint, Model
from fdbcore.recording.files import REFUSAL, REPLY
from fdbcore.runtime.address import Setting, parsed, query_of, split_query, text_of
from fdbcore.sources.clips import read_clip
from fdbcore.types import (
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    SILENT_FRAME,
    TICK_MS,
    Happening,
    Pcm,
    Reply,
    Request,
    Side,
    TurnEvent,
    other_side,
)
from fdbcore.types.usage import ModelUsage, Service, Unit

REQUEST_RATE_HZ: Final = 24_000
PAUSE_MS: Final = 700
CLOSE_S: Final = 1.0

_VENDORS: Final = {"gemini": "gemini", "openai-chat": "openai"}
SETTINGS: Final = (
    *MODEL_SETTINGS,
    Setting(
        "pause_ms",
        "how long the other side has been silent when its utterance is over",
        int,
        PAUSE_MS,
        unit="ms",
        least=TICK_MS,
        step=TICK_MS,
    ),
    Setting(
        "hears",
        "`recording`: the samples of the user's file as they are; `call`: all so far, with the silence at the end",
        default="call",
        choices=("call", "recording"),
    ),
    Setting("system", "what the model is told beside the audio; `@FILE` for the text in a file", default=""),
    Setting("user", "as `system`, in the place of a user", default=""),
)


def reply(address: str) -> "ReplyEndpoint":
    """The party at an address (see the module). SettingsError for a wrong setting, or a file or key that is missing."""
    kind, name, settings = parsed(address, SETTINGS)
    if not name:
        raise SettingsError(f"system: expected {kind}:NAME of a model, got {address!r}")
    of_model = {each.name: value for each in MODEL_SETTINGS if (value := settings[each.name]) is not None}
    model = registry.model(f"{_VENDORS[kind]}:{name}?{urlencode(of_model)}")
    told = text_of(settings["system"]), text_of(settings["user"])
    party = ReplyEndpoint(kind, model, settings["pause_ms"], *told, settings["hears"])
    if isinstance(model, VendorModel):
        model.key()  # report a missing key before any case is held
    return party


def with_defaults(address: str, defaults: Mapping[str, str]) -> str:
    """`address` with these settings added unless it sets them itself; unchanged for any other kind of party."""
    place, query = split_query(address)
    return f"{place}?{urlencode({**defaults, **query_of(query)})}" if replies_once(address) else address


def replies_once(address: str) -> bool:
    """True if a party takes a recording and replies once, so that its reply does not depend on timing."""
    return address.partition(":")[0] in _VENDORS


class _Recording(NamedTuple):
    """A file that the other side may be playing: its own samples (n,), and what a call makes of them in frames."""

    pcm: npt.NDArray[np.int16]
    rate_hz: int
    frames: Sequence[Pcm]

    def has(self, frames: Sequence[Pcm], tick: int) -> bool:
        """True if these frames are those of the file from `tick` on, and silence after its end."""
        expected = [*self.frames[tick : tick + len(frames)], *[SILENT_FRAME] * len(frames)]
        return all(map(np.array_equal, frames, expected))


class Answer(NamedTuple):
    """A model's reply, its voice in frames (empty if it has none), and how many ms it took."""

    reply: Reply
    frames: Sequence[Pcm]
    ms: int


class ReplyEndpoint(Endpoint):
    """Stores what it hears, asks the model once the other side's utterance is over, says the reply, and leaves.

    See SETTINGS. pause_ms: a silence of the other side this long ends its utterance.
    """

    clocking: Clocking = "input"

    def __init__(self, kind: str, model: Model, pause_ms: int, system: str, user: str, hears: str = "call") -> None:
        self._kind = kind
        self._model = model
        self._pause_ms, self._system, self._user, self._hears = pause_ms, system, user, hears
        self._recording: _Recording | None = None  # while what was heard is that
        self._origin_ns: int | None = None
        self._down = Resampler(SAMPLE_RATE_HZ, REQUEST_RATE_HZ)
        self._heard: list[npt.NDArray[np.int16]] = []
        self._heard_ticks = 0
        self._silent_since: int | None = None  # the tick at which the other side's last speech ended; None: it speaks
        self._answer: Future[Answer] | None = None
        self._thread: Thread | None = None
        self._frames: Sequence[Pcm] = ()
        self._start_tick: int | None = None  # the tick at which the reply begins
        self._happened: list[Happening] = []
        self._measured: dict[str, int] = {}

    def open(self, side: Side) -> None:
        """Load the model's SDK, without contacting a server. MissingExtraError if the SDK is not installed."""
        self._side = side
        if isinstance(self._model, VendorModel):
            self._model.prepare()

    def take_recording(self, path: Path) -> None:
        """See `Endpoint.take_recording`."""
        if self._hears == "recording":
            pcm, rate_hz = read_mono(path)
            self._recording = _Recording(pcm, rate_hz, _frames(read_clip(path)[0]))

    def services(self) -> Sequence[Service]:
        """The model's server, which gets the audio of the other side."""
        return [service._replace(takes="audio") for service in self._model.services()]

    def probe(self) -> None:
        """See `Model.probe`."""
        self._model.probe()

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. origin_ns: None for lockstep."""
        self._origin_ns = origin_ns
        if isinstance(self._model, VendorModel) and origin_ns is not None:
            self._model.attempts = 1  # retries would outlast the call, and hide that the server failed

    def say(self, tick: int) -> Pcm | None:
        """Silence, then the frames of the reply, int16 (480,) each. In lockstep this waits for the model."""
        pause_ticks = self._pause_ms // TICK_MS
        if self._answer is None and self._silent_since is not None and tick >= self._silent_since + pause_ticks:
            self._ask(tick)
        if self._answer is not None and self._start_tick is None and (self._in_lockstep or self._answer.done()):
            self._begin(tick, self._answer)
        if self.left is None and self._start_tick is not None and tick - self._start_tick >= len(self._frames):
            self.left = "finished"
        if self.left is not None:
            return None
        return SILENT_FRAME if self._start_tick is None else self._frames[tick - self._start_tick]

    @property
    def _in_lockstep(self) -> bool:
        return self._origin_ns is None

    def _ask(self, tick: int) -> None:
        heard, rate_hz = np.concatenate((*self._heard, self._down.flush())), REQUEST_RATE_HZ
        is_recording = self._recording is not None and self._heard_ticks >= len(self._recording.frames)
        if self._recording is not None and is_recording:
            heard, rate_hz = self._recording.pcm, self._recording.rate_hz
        request = Request(user=self._user, system=self._system, wav=wav_bytes(heard, rate_hz))
        self._measured["request_samples"] = len(heard)
        about = {"samples": len(heard), "rate_hz": rate_hz, **({"is_recording": True} if is_recording else {})}
        self._happened.append(Happening(tick, "request", about))
        self._note_usage(tick, due=True)
        self._answer = Future()
        self._thread = Thread(target=self._await, args=(request, self._answer), daemon=True, name="fdbcore-reply")
        self._thread.start()

    def _await(self, request: Request, answer: Future[Answer]) -> None:
        """Ask the model, and set the answer: the work of the thread."""
        begun_ns = now_ns()
        try:
            found = self._model.ask(request)
            ms = (now_ns() - begun_ns) // 1_000_000
            answer.set_result(Answer(found, _voice(found), ms))
        except BaseException as error:  # passed on to the thread of the ticks
            answer.set_exception(error)

    def _begin(self, tick: int, answered: Future[Answer]) -> None:
        """Begin to say the reply, or leave if there is none."""
        try:
            answer = answered.result()
        except PartyError as error:
            reason = " ".join(str(error).split())
            if isinstance(error, CutOffError):
                self._happened.append(Happening(tick, REPLY, {"text": error.text, "cut": True}))
            elif isinstance(error, RefusalError):
                self._happened.append(Happening(tick, REFUSAL, {"reason": reason}))
            elif not (error.transient or isinstance(error, _VoiceError)):
                raise SettingsError(reason) from None  # no other call would get a reply either
            self.left, self.transient = reason, error.transient
            return
        self._frames, self._start_tick = answer.frames, tick
        self._measured["answer_ms"] = answer.ms
        said = {"text": answer.reply.text, "model": answer.reply.model}
        duration = {} if self._in_lockstep else {"ms": answer.ms}  # in lockstep every run must log the same
        self._happened.append(Happening(tick, REPLY, {**said, **duration}))
        self._note_usage(tick, answer.reply.counts, due=not answer.reply.counts)

    def _note_usage(self, tick: int, counts: Mapping[Unit, float] = MappingProxyType({}), due: bool = False) -> None:
        """Log what the model counted, or that its server has yet to say so."""
        vendor = next((service.vendor for service in self.services()), "")
        name = self._model.name.partition(":")[2]
        self._happened.append(ModelUsage(vendor, name, counts, due).happening(tick))

    def hear(self, tick: int, frame: Pcm) -> None:
        """Store the frame, and before it silence for each missed tick, until the model is asked."""
        if self._answer is None:
            frames = [SILENT_FRAME] * (tick - self._heard_ticks) + [frame]
            self._heard += [self._down.process(heard) for heard in frames]
            if self._recording is not None and not self._recording.has(frames, self._heard_ticks):
                self._recording = None
        self._heard_ticks = tick + 1

    def notice(self, tick: int, events: Sequence[TurnEvent]) -> None:
        """Note when the other side's speech begins and ends."""
        for event in events:
            if event.side == other_side(self._side) and event.kind in ("speech_start", "speech_end"):
                self._silent_since = event.end_tick  # None for a start

    def log(self) -> Sequence[Happening]:
        """The request, the reply with its text, and what the model counted."""
        happened, self._happened = self._happened, []
        return happened

    def measured(self) -> Mapping[str, Any]:
        """The length of the request in samples, and how many ms the answer took, retries included."""
        return dict(self._measured)

    def describe(self) -> Mapping[str, Any]:
        """The model, its server and SDK, and the full prompts, as JSON values."""
        return {
            "kind": self._kind,
            "model": dict(self._model.describe()),
            "pause_ms": self._pause_ms,
            "hears": self._hears,
            "system": self._system,
            "user": self._user,
        }

    def close(self) -> None:
        """Leave. A request that is still running ends by its own time-out."""
        if self._thread is not None:
            self._thread.join(CLOSE_S)


class _VoiceError(PartyError):
    """The voice of a reply is not audio."""


def _voice(found: Reply) -> Sequence[Pcm]:
    """The voice of a reply in frames. PartyError if it is not audio."""
    if found.wav is None:
        return ()
    with NamedTemporaryFile(suffix=".wav") as file:
        file.write(found.wav)
        file.flush()
        try:
            pcm, _ = read_clip(file.name)
        except AudioError as error:
            raise _VoiceError(f"{found.model}: sent a voice of {str(error).rpartition(', got ')[2]}") from None
    return _frames(pcm)


def _frames(pcm: Pcm) -> Sequence[Pcm]:
    """Audio at 48 kHz in frames, int16 (480,) each, the last one filled up."""
    return list(np.pad(pcm, (0, -len(pcm) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES))
