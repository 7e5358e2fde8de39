"""Small files of every kind that fdbcore reads, made by its own commands where it makes them."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import av
from click.testing import CliRunner
from helpers.recorded_users import put
from helpers.released_folder import call, result, write_wav
from helpers.released_tasks import task
from helpers.staged_runs import MUG
from helpers.voices import RATE_HZ, voices, write
from sources.test_agent_logs import LIVEKIT_REPORT, LOGS, PIPECAT, SPANS, VAPI
from sources.test_labels import LONG, SHORT

from fdbcore.cli.main import main
from fdbcore.suites.dialogue_acts.records import __file__ as acts

CALLS: Final = ("A 0.3-1.2 2.2-3 | B 1.4-2.1 3.2-3.8", "A 0.3-2 | B 1.6-2.8")
CONTAINERS: Final = {
    "flac": "flac", "mp3": "libmp3lame", "opus": "libopus", "ogg": "libopus", "webm": "libopus", "mka": "libopus",
    "m4a": "aac", "mp4": "aac", "aac": "aac", "aiff": "pcm_s16be", "au": "pcm_s16be", "caf": "pcm_s16be",
    "w64": "pcm_s16le", "avi": "libmp3lame",
}  # fmt: skip
OWN: Final = [{"time": 0.3, "name": "user"}, {"time": 1.2, "name": "user ends"}, {"time": 1.4, "name": "agent"}]
JUDGED: Final = {
    "Turn-taking event and score": [[[8.5, 12.0], 4, 5], [["0:01.5", "0:04"], 3, 3]],
    "Task-specific score": 3,
}
SAID: Final = {"text": "sea", "chunks": [{"text": "sea", "timestamp": [0.4, 0.9]}]}
EXPECTED: Final = [call("search_flights", destination="Rome", date="2026-05-02")]
SCENARIO: Final = {
    "id": "travel_01", "domain": "travel_identity", "difficulty": "easy", "expected_tool_calls": EXPECTED,
    "dialogue": [{"user": "To Rome.", "ai": "Done."}], "disfluency_features": ["PAUSE"],
}  # fmt: skip
V3: Final = f"v3/travel_01_{0xA1:024x}"
FILES: Final[Mapping[str, Any]] = {
    "labels/labels.csv": "file,side,kind,start_s,end_s\nc0.wav,A,pause,1,1.5\nc1.wav,A,turn_end,2,2\n",
    "labels/c0.tsv": "side\tkind\tstart_ms\tend_ms\nA\tnoise\t1000\t2500\n",
    "labels/c0.TextGrid": LONG,
    "labels/short.TextGrid": SHORT,
    "labels/c0.rttm": "SPEAKER c0 1 0.50 1.00 <NA> <NA> A <NA> <NA>\nSPEAKER c0 2 2.00 0.50 <NA> <NA> B <NA> <NA>\n",
    "labels/c0.txt": "1.0\t2.0\tA pause 1.00 s\n3\t3\tturn end: user\n1.5\t2\tB backchannel: mhm\n",
    "c0.jsonl": OWN,
    "logs/own.jsonl": OWN,
    "logs/own.json": OWN,
    "logs/spans.json": SPANS,
    "logs/logs.jsonl": [LOGS, SPANS],
    "logs/livekit.json": LIVEKIT_REPORT,
    "logs/livekit.jsonl": [{"message": "STT", "name": "x", "timestamp": f"2026-11-01T00:00:0{n}Z"} for n in range(3)],
    "logs/vapi.json": VAPI,
    "logs/pipecat.log": PIPECAT,
    "calls.csv": "file,language,caller,made_at,agent_channel,measure_from,leave_out\n"
    "c0.wav,en,ann,2026-01-02T03:04:05Z,right,0:00,0:01-0:01.5\nc1.wav,de,bob,2026-01-03T03:04:05Z,right,,\n",
    "words/c0/A.json": SAID,
    "words/c0/B.json": SAID,
    "gates.toml": '[[gate]]\ncondition = "premature_per_turn <= baseline + 0.02"\nwhere = { language = "en" }\n',
    "mug.toml": MUG,
    "party.toml": 'tail_s = 1.0\n[[line]]\nclip = "calls/c1.wav"\nafter = "other_end"\ndelay_s = 0.5\n',
    "tools.json": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}, "command": "cat"}],
    ".env": "OPENAI_API_KEY=sk-fake-0123456789\nexport FDBCORE_TOKEN='abc'\n",
    "tasks.json": [task("daily", "ordering", n, f"Shop {n}") for n in range(2)],
    "answer.json": {"right": True, "reason": "It says so."},
    "human.json": {"1": [0, 1, 0]},
    "people.csv": "dialogue,sample,rater,turn_taking,instruction_following,task_score,family\n"
    "d1,s,ann,4,5,3,daily\nd1,s,bob,3,5,3,daily\nd2,s,ann,1,2,2,daily\nd2,s,bob,2,2,1,daily\n",
    "tags.csv": "recording,disfluencies,rater\nr1,filler pause,ann\nr2,,ann\nr1,filler,bob\nr2,pause,bob\n",
    "verdicts.csv": "recording,system,rater,response\nr1,x,ann,yes\nr2,x,ann,no\nr1,x,bob,yes\nr2,x,bob,yes\n",
    "v1/synthetic_pause_handling/1/pause.json": [{"text": "[PAUSE]", "timestamp": [1.5, 2.0]}],
    "v1/synthetic_pause_handling/1/output.json": SAID,
    "v2/Safety/Safety.x.001.json": JUDGED,
    "v2/Safety/Safety.x.002.json": JUDGED,
    "v3/benchmark_data_v2.json": {"scenarios": [SCENARIO]},
    f"{V3}/metadata.json": SCENARIO,
    f"{V3}/result_ours.json": result(EXPECTED),
}
COMMANDS: Final = (
    "replay calls --vad energy --jobs 1 --meta calls.csv --labels labels/labels.csv --agent-log c*.jsonl --out run",
    "transcribe run --transcriber words:words",
    "score run --jobs 1",
    "run --system echo --clips calls --clock virtual --max-s 4 --vad energy --seed 1 --out live",
    "score live --jobs 1",
)


def build(folder: Path, judge: str) -> None:
    """Make all of it in a folder, which is the current one. judge: the address of a judge of dialogue acts."""
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(line) + "\n" for line in content) if name.endswith(".jsonl") else json.dumps(content)
        (folder / name).write_text(content if isinstance(content, str) else lines)
    data = Path(acts).parent / "data"
    for name in ("records.jsonl", "good.jsonl"):
        (folder / name).write_text("".join((data / "smoke" / name).read_text().splitlines(keepends=True)[:3]))
    shutil.copy(data / "acts.toml", folder)
    for number, drawing in enumerate(CALLS):
        write(folder / "calls" / f"c{number}.wav", voices(drawing, 0.3))
    spoken = voices("A 0.3-1.5 2-3 | B 3.4-4", 0.5).repeat(3, axis=0)
    for side, name in enumerate(("input.wav", "output.wav")):
        put(folder / "v1" / "synthetic_pause_handling" / "1", name, spoken[:, side].copy())
    write_wav(folder / V3 / "input.wav", 16_000, 1, 2)
    kept = f"score --suite dialogue-acts good.jsonl --references records.jsonl --out kept --judge {judge}"
    for command in (*COMMANDS, kept):
        done = CliRunner().invoke(main, command.split(), catch_exceptions=False)
        assert done.exit_code in (0, 1), done.output
    shutil.copytree(folder / "run", folder / "old")
    for suffix, codec in CONTAINERS.items():
        with av.open(str(folder / "calls" / f"c1.{suffix}"), "w") as file:
            stream: Any = file.add_stream(codec, rate=RATE_HZ, layout="stereo")
            frame = av.AudioFrame.from_ndarray(voices(CALLS[1], 0.3).reshape(1, -1), format="s16", layout="stereo")
            frame.sample_rate = RATE_HZ
            file.mux([*stream.encode(frame), *stream.encode(None)])
