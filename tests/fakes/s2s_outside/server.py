"""Hugging Face's own realtime server (PyPI `speech-to-speech`), whose models stand behind OpenAI's interface.

    python -m fakes.s2s_outside.server CHAT_URL SPEECH_URL KEY

prints its port once it listens. CHAT_URL transcribes and answers, SPEECH_URL speaks. Silero, from its package, finds
the turns; `smart_turn` is off, so that silence alone ends them. NLTK's data is on no package index: sentences end at
their punctuation here. What the server sends, and when, is Hugging Face's code.
"""

from __future__ import annotations

import re
import sys

import nltk
import silero_vad
import torch
from fakes.outside_port import tell_port


def without_downloads() -> None:
    """What the server fetches when it starts is here, or not needed."""
    nltk.data.find = lambda *_: True
    nltk.sent_tokenize = lambda text: [part for part in re.split(r"(?<=[.!?])\s+", text) if part]
    torch.hub.load = lambda *_, **__: (silero_vad.load_silero_vad(), None)


def without_warmups() -> None:
    """A test plans what its models answer, one after the other."""
    from speech_to_speech.LLM.chat_completions_language_model import ChatCompletionsApiModelHandler
    from speech_to_speech.STT.openai_compatible_handler import OpenAICompatibleSTTHandler
    from speech_to_speech.TTS.openai_compatible_handler import OpenAICompatibleTTSHandler

    for handler in (ChatCompletionsApiModelHandler, OpenAICompatibleSTTHandler, OpenAICompatibleTTSHandler):
        handler.warmup = lambda _: None


def main() -> None:
    without_downloads()
    without_warmups()
    from speech_to_speech.cli import main as serve

    chat_url, speech_url, key = sys.argv[1:]
    given = {"stt": "openai", "openai_stt_base_url": chat_url, "openai_stt_api_key": key}
    given |= {"llm_backend": "chat-completions", "responses_api_base_url": chat_url, "responses_api_api_key": key}
    given |= {
        "tts": "openai",
        "openai_tts_base_url": speech_url,
        "openai_tts_api_key": key,
        "openai_tts_voice": "alloy",
    }
    given |= {"model_name": "fake", "port": str(tell_port())}
    flags = [part for name, value in given.items() for part in (f"--{name}", value)]
    sys.argv = ["speech-to-speech", "serve", "--no_smart_turn", "--no_enable_live_transcription", *flags]
    serve()


if __name__ == "__main__":
    main()
