from .decode import AudioFile as AudioFile
from .decode import resampler_to_48k as resampler_to_48k
from .speech import TRANSCRIBER_RATE_HZ as TRANSCRIBER_RATE_HZ
from .speech import wav_to_recognise as wav_to_recognise
from .wav import wav_bytes as wav_bytes
