"""What judges have answered, in one file that several scorings write at once."""

import json
import subprocess
import sys
from pathlib import Path

from fdbcore.runs.asking import KeptAnswers

WRITES = """
import sys
from pathlib import Path
from fdbcore.runs.asking import KeptAnswers
kept = KeptAnswers(Path(sys.argv[1]))
print(flush=True)
sys.stdin.readline()
for number in range(40):
    usage = {"host": "h", "vendor": "", "model": "m", "text_in_tokens": 1}
    kept.note(f"{sys.argv[2]}{number}", [usage], {"right": True})
    kept.note("both", [usage], None)
"""


def test_two_processes_at_once_lose_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "derived" / "judged.json"
    command = [sys.executable, "-c", WRITES, str(file)]
    writers = [subprocess.Popen([*command, name], stdin=-1, stdout=-1, text=True) for name in "ab"]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()  # both have read the file before either writes
    for writer in writers:
        writer.communicate("go\n")
    found = json.loads(file.read_text())
    assert len(found.pop("usage")["both"]) == 80
    assert {*found} == {f"{name}{number}" for name in "ab" for number in range(40)}


def test_a_damaged_file_is_set_aside_when_the_next_answer_comes(tmp_path: Path) -> None:
    for number, text in enumerate(('{"a": {', "[]", '{"usage": {"a": [5]}}', '{"a": NaN}', "[" * 5000)):
        file = tmp_path / f"{number}.json"
        file.write_text(text)
        kept = KeptAnswers(file)
        assert (kept.answer("a"), kept.usages("a"), file.read_text()) == (None, (), text)
        kept.note("a", [], {"right": True})
        assert json.loads(file.read_text()) == {"a": {"right": True}}
        assert Path(f"{file}.damaged").read_text() == text
        file.write_text("again")
        KeptAnswers(file).note("a", [], {"right": True})
        assert [Path(f"{file}.damaged{more}").read_text() for more in ("", ".damaged")] == [text, "again"]
