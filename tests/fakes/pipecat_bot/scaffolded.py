"""A bot as `pipecat init` makes it, run by Pipecat's own runner: nothing of the bot is ours but one tool.

    PYTHONPATH=tests PYTHON_OF_THE_ENVIRONMENT -m fakes.pipecat_bot.scaffolded web|telephony BASE_URL KEY

Its transcriber, model and voice are OpenAI's, at BASE_URL. It prints its port once it listens.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRANSPORTS = {"web": "smallwebrtc", "telephony": "twilio"}
SERVICES = ("--mode", "cascade", "--stt", "openai_stt", "--llm", "openai_llm", "--tts", "openai_tts")
TOOL = '''
from pipecat.processors.frameworks.rtvi import RTVIObserverParams
from pipecat.processors.frameworks.rtvi.observer import RTVIFunctionCallReportLevel


async def book(params, day: str):
    """Book a kayak.

    Args:
        day: the day of the week.
    """
    await params.result_callback({"booked": day})


async def run_bot('''
REPORT = 'rtvi_observer_params=RTVIObserverParams(function_call_report_level={"*": RTVIFunctionCallReportLevel.FULL}),'
CHANGES = (
    ("\nasync def run_bot(", TOOL),
    ("LLMContext()", "LLMContext(tools=[book])"),
    ("        params=PipelineParams(", f"        {REPORT}\n        params=PipelineParams("),
)


def scaffold(folder: Path, kind: str) -> Path:
    """Make a bot in a folder; return its file."""
    pipecat = Path(sys.executable).with_name("pipecat")
    of_client = ("--client-framework", "none") if kind == "web" else ()
    how = ("--no-context-hub", "--bot-type", kind, "-t", TRANSPORTS[kind], *SERVICES, *of_client)
    subprocess.run([pipecat, "init", folder, *how], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    bot = folder / "server" / "bot.py"
    source = bot.read_text()
    for old, new in CHANGES:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    bot.write_text(source)
    return bot


def main() -> None:
    """Serve until the process is ended."""
    kind, base_url, key = sys.argv[1:]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    told = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": key, "OPENAI_VOICE_ID": "alloy"}
    told |= {"TWILIO_ACCOUNT_SID": "AC0", "TWILIO_AUTH_TOKEN": "none"}  # without them it takes no call
    with tempfile.TemporaryDirectory() as folder:
        bot = scaffold(Path(folder) / "bot", kind)
        command = [sys.executable, str(bot), "--host", "127.0.0.1", "--port", str(port)]
        with subprocess.Popen(command, cwd=bot.parent, env=os.environ | told, stdout=subprocess.DEVNULL) as running:
            signal.signal(signal.SIGTERM, lambda *_: running.terminate())
            while running.poll() is None:
                with socket.socket() as knock:
                    if not knock.connect_ex(("127.0.0.1", port)):
                        print(port, flush=True)
                        running.wait()
                time.sleep(0.1)


if __name__ == "__main__":
    main()
