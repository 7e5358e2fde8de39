"""The shared part of actors that let a speaker say their texts: closing statement, backchannels, and who speaks."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fdbcore import registry
from fdbcore.endpoints.examiner.actor import Actor, ActorSettings, Speech, fault
from fdbcore.endpoints.examiner.transcriber_thread import TranscriberThread
from fdbcore.endpoints.examiner.voice import spoken, voice_of
from fdbcore.errors import PartyError, told_as
from fdbcore.types import Happening, Pcm, Side
from fdbcore.types.usage import ModelUsage, Service

BACKCHANNELS: Final = {"en": ("Okay.", "I see.", "Right."), "ja": ("はい。", "ええ。", "そうですか。")}
"""By language; in others it gives none."""
CLOSE_S: Final = 1.0


class VoicedActor(Actor):
    """`open` synthesises what is known before the call. SettingsError for a missing voice."""

    def __init__(self, address: str, settings: ActorSettings) -> None:
        self.name = address
        self._brief, self._settings = settings.brief, settings
        self._texts: set[tuple[str, str]] = set()  # counted for this call, also if an earlier one had them spoken
        self._listened = False  # to all of the present answer
        self._counted: deque[ModelUsage] = deque()  # by its models, each on a thread of its own
        self._ears = (
            None if settings.transcriber is None else TranscriberThread(settings.transcriber, self._counted.append)
        )
        for voice in self._voices:
            with told_as(f"examiner: voice of {settings.brief.id}", "tts"):
                registry.speaker(voice)

    @property
    def _voices(self) -> Sequence[str]:
        """The addresses of its speakers."""
        languages = [self._brief.language, *(goal.language for goal in self._brief.goals)]
        return [self._settings.voice] if self._settings.voice else list(dict.fromkeys(map(voice_of, languages)))

    @property
    def error(self) -> PartyError | None:
        """The reason why it cannot hear."""
        deaf = None if self._ears is None else self._ears.error
        return None if deaf is None else fault("the examiner cannot hear", deaf)

    def services(self) -> Sequence[Service]:
        """The services of its speakers, which get its texts, and of the transcriber."""
        heard = () if self._settings.transcriber is None else self._settings.transcriber.services()
        spoken_by = [service for voice in self._voices for service in registry.speaker(voice).services()]
        return [*spoken_by, *(service._replace(takes="audio") for service in heard)]

    def open(self, side: Side) -> None:
        """Synthesise what is known. InputError for what cannot be spoken, PartyError if a speaker fails."""
        self._frames(self._brief.closing, self._brief.language)
        if self._settings.pacing.backchannels_ms is not None:
            for text in BACKCHANNELS.get(self._brief.language, ()):
                self._frames(text, self._brief.language)

    def start(self, origin_ns: int | None) -> None:
        """On a clock that never waits, wait for the transcriber."""
        if self._ears is not None:
            self._ears.waits = origin_ns is None

    def hear(self, tick: int, frame: Pcm) -> None:
        """Keep the frame for the transcriber."""
        if self._ears is not None:
            self._ears.hear(frame)

    def resumed(self, tick: int) -> None:
        """The answer goes on."""
        self._listened = False

    def closing(self, tick: int, item: str) -> Speech:
        """The closing statement of the brief."""
        return Speech(self._brief.closing, self._frames(self._brief.closing, self._brief.language))

    def backchannel(self, tick: int, number: int) -> Speech | None:
        """In the language of the brief."""
        texts = BACKCHANNELS.get(self._brief.language)
        if not texts:
            return None
        text = texts[number % len(texts)]
        return Speech(text, self._frames(text, self._brief.language))

    def log(self, tick: int) -> Sequence[Happening]:
        """Usage that its models counted."""
        return [self._counted.popleft().happening(tick) for _ in range(len(self._counted))]

    def describe(self) -> Mapping[str, Any]:
        """The voices and the transcriber, as JSON values; how often a goal is put, if that is set."""
        asr, wordings = self._settings.transcriber, self._settings.wordings
        return {
            "transcriber": None if asr is None else dict(getattr(asr, "describe", lambda: {"name": asr.name})()),
            "voices": {voice: dict(registry.speaker(voice).describe()) for voice in self._voices},
            "level_dbov": self._settings.level_dbov,
            **({"wordings": wordings} if wordings else {}),
        }

    def close(self) -> None:
        """Leave. A transcriber at work ends by its own time-out."""
        if self._ears is not None:
            self._ears.join(CLOSE_S)

    def _has_heard(self, ears: TranscriberThread) -> bool:
        """True if all of the system's answer was heard; listens to it if not."""
        if not ears.is_busy and not self._listened:  # it may be at work on what came before the end of the answer
            ears.listen()
            self._listened = True
        return not ears.is_busy

    def _frames(self, text: str, language: str) -> Sequence[Pcm]:
        voice = self._settings.voice or voice_of(language)
        frames = spoken(voice, text, self._settings.level_dbov)
        if (voice, text) not in self._texts:
            self._texts.add((voice, text))
            for service in registry.speaker(voice).services():
                self._counted.append(ModelUsage(service.vendor, service.model, {"characters": len(text)}))
        return frames
