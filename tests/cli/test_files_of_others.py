"""Files of somebody else: they run no code, and nothing is written, read or sent where they lead."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import command, done, refused
from helpers.smoke import run as run_v3
from helpers.smoke import some
from helpers.voices import DIALOGUE, voices, write

from fdbcore import registry
from fdbcore.errors import InputError, SettingsError
from fdbcore.recording.files import settings_hash
from fdbcore.suites.dialogue_acts.records import __file__ as acts
from fdbcore.suites.fdb_v3.playing import SET, ship

SECRETS = ("OWN_KEY", "OWN_TOKEN", "OWN_SECRET", "AWS_ACCESS_KEY_ID", "FDBCORE_TOKEN", "OWN_CREDENTIAL")
OTHERS = (
    *("OPENAI_BASE_URL", "MY_URL", "HTTPS_PROXY", "all_proxy", "LD_PRELOAD", "LD_KEY", "PYTHONPATH", "PYTHON_TOKEN"),
    *("XDG_CACHE_HOME", "FDBCORE_MODELS", "FDBCORE_KEY", "NUMBA_CACHE_DIR", "fdbcore_token", "PATH_TO_THINGS"),
)
SHOW = """
import os
from fdbcore.cli.main import main
typed = "x=whip://127.0.0.1?key_variable=OWN_CREDENTIAL", "x=whip://a?key_variable=LD_PRELOAD&b", "key_variable=MY_URL"
try: main(["run", "--help", *typed])
finally: print(*sorted(name for name, value in os.environ.items() if value == "of-the-file"))
"""
REPLAY = ("replay", "calls", "--vad", "energy", "--jobs", 1, "--out", "R")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run R of two calls, a file that nobody may change, and modules that nobody may run."""
    folder = tmp_path_factory.mktemp("others")
    for name in "ab":
        write(folder / "calls" / f"{name}.wav", voices(DIALOGUE))
    (folder / "precious").mkdir()
    (folder / "precious" / "report.html").write_text("mine")
    for name in ("evil", "multiprocessing", "pip"):
        (folder / f"{name}.py").write_text("import os\nos.mkdir('ran')\nclass Evil: pass\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done(*REPLAY)
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "here"))
    return Path.cwd()


def is_left_alone(folder: Path) -> bool:
    return [(item.name, item.read_text()) for item in (folder / "precious").iterdir()] == [("report.html", "mine")]


def test_a_file_of_variables_sets_secrets_alone_and_says_what_it_left_out(tmp_path: Path) -> None:
    lines = [f"{name}=of-the-file" for name in (*SECRETS, *OTHERS)]
    (tmp_path / ".env").write_text("\n".join([*lines, "c2VjcmV0QQ==", "A_KEY=nul\0", "sk-secret"]))
    known = {name: value for name, value in os.environ.items() if name not in (*SECRETS, *OTHERS)}
    result = subprocess.run([sys.executable, "-c", SHOW], cwd=tmp_path, env=known, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1].split() == sorted(SECRETS)
    assert result.stderr.count(", ".join(OTHERS)) == 1
    assert not re.search("of-the-file|c2Vj|nul|sk-", result.stderr)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("model", "openai:m"), ("model", "gemini:m"), ("endpoint", "grok:m"), ("endpoint", "ultravox:ultravox-v0.7"),
     ("endpoint", "openai-live:m"), ("transcriber", "openai:m"), ("judge", "openai-decisions:m")],
)  # fmt: skip
def test_a_key_goes_by_tls_or_stays_here(kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def key(query: str) -> None:
        found = getattr(registry, kind)(name + query)
        getattr(found, "check_key", getattr(found, "key", lambda: None))()

    for variable in ("OWN_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, "a-key-of-somebody")
    for server in ("http://127.0.0.1:9", "https://192.0.2.1"):
        key(f"?base_url={server}&key_variable=OWN_KEY")
    with pytest.raises(SettingsError, match=r"OWN_KEY beyond this machine, got http://192.0.2.1: no TLS"):
        key("?base_url=http://192.0.2.1&key_variable=OWN_KEY")
    if name == "openai:m":
        monkeypatch.setenv("OPENAI_BASE_URL", "http://192.0.2.1/v1")
        with pytest.raises(SettingsError, match="OPENAI_API_KEY beyond this machine"):
            key("")


def test_no_code_that_a_file_names_is_run(here: Path) -> None:
    for call in "ab":
        path = here / "R" / call / "meta.json"
        meta = json.loads(path.read_text().replace('"name": "energy"', '"name": "evil:Evil"'))
        path.write_text(json.dumps(meta | {"settings_sha256": settings_hash(meta["settings"])}))
        (path.parent / "derived/quantities.json").unlink()
    for words in ("replay R --out new/R", "replay R/a --out one", "score R --reference calls --out S"):
        told = command(*words.split())
        assert told.exit_code
        assert "--vad evil:Evil if you trust" in told.output
    user = {"name": "a", "brief": "a.json", "settings": {"voice": "exec:touch ran"}, "most_s": 9, "columns": {}}
    (here / "users.json").write_text(json.dumps({"schema": "fdbcore.staged_users/1", "users": [user]}))
    with pytest.raises(InputError, match="in the command, not in the data, got 'exec:touch ran'"):
        registry.suite("staged").side_a(str(here))
    assert not (here / "ran").exists()
    assert command("replay", "R/a", "--out", "two", "--vad", "evil:Evil").exit_code
    assert (here / "ran").exists()


def test_no_process_takes_a_module_of_the_current_folder_for_one_of_pythons(here: Path) -> None:
    (here / ".numba_config.yaml").write_text("cache_dir: ran\n")
    command = str(Path(sys.executable).with_name("fdbcore"))
    known = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_RETRIES": "0", "FDBCORE_MODELS": str(here / "m")}
    for words, code in (([*REPLAY[:4], "--jobs", "2"], 0), (["score", "R"], 0), (["models", "get", "hibari"], 1)):
        result = subprocess.run([command, *map(str, words)], env=known, capture_output=True, text=True)
        assert result.returncode == code, result.stderr
    assert not (here / "ran").exists()
    root = Path(registry.__file__).parent
    texts = [path.read_text() for folder in (root, root.parent / "cli") for path in folder.rglob("*.py")]
    started = [found for text in texts for found in re.findall(r"sys\.executable, (\S+)", text)]
    assert {*started} == {'"-P",', '"-I",'}


@pytest.mark.parametrize("name", ["../precious", "a/../../precious", "..", ".", "", "{}/precious", "a\0b", "linked"])
def test_a_name_that_leads_out_of_its_run_is_refused(here: Path, name: str) -> None:
    (here / "R/linked").symlink_to(here / "precious")
    corpus = json.loads((here / "R/corpus.json").read_text())
    corpus["calls"][0]["name"] = name.format(here)
    (here / "R/corpus.json").write_text(json.dumps(corpus))
    (here / "P").mkdir()
    (here / "P/linked").symlink_to(here / "precious")
    plan = {"systems": {}, "a": {}, "trials": 1, "seed": 0, "clock": "real", "max_s": 1, "vad": "energy", "turns": {}}
    cases = [{"name": each["name"], "system": "x", "trial": 1, "clip": None} for each in corpus["calls"]]
    planned = {"schema": "fdbcore.run/1", "created": "", "versions": {}, "plan": plan, "cases": cases}
    (here / "P/run.json").write_text(json.dumps(planned))
    for words in ("report R", "score R", "export R --format csv --out x", "report P", "score --suite fdb-v1 P --out S"):
        told = command(*words.split())
        assert told.exit_code
        assert re.search("names of folders and files in it|a link that leads out of it", told.stderr), told.output
    assert is_left_alone(here)


def test_a_call_that_is_a_link_out_of_its_run_is_refused_by_its_own_name(here: Path) -> None:
    shutil.copytree(here / "R/a", here / "elsewhere")
    (here / "R/linked").symlink_to(here / "elsewhere")
    told = command("score", "R/linked")
    assert "a link that leads out of it" in told.stderr
    assert told.exit_code
    assert not (here / "elsewhere/scores.json").exists()
    (here / "mine").symlink_to(here / "elsewhere")  # in no run: a link that the user made
    done("score", "mine")


@pytest.mark.parametrize("folder", ["a", "a/derived", "pages"])
def test_nothing_is_written_through_links(here: Path, folder: str) -> None:
    mine = here / "precious/report.html"
    for name in ("index.html.part", "workers.log", "b/report.html.part"):
        (here / "R" / name).symlink_to(mine)
    (here / "R/calls.csv.part").hardlink_to(mine)
    (here / "R/b/events.jsonl").unlink()
    (here / "R/b/events.jsonl").symlink_to(mine)
    done(*REPLAY, "--jobs", 2, "--set", "min_silence_ms=300")
    assert is_left_alone(here)
    shutil.rmtree(here / "R" / folder)
    (here / "R" / folder).symlink_to(here / "precious")
    for words in (REPLAY, ["score", "R"], ["report", "R"]):
        told = command(*words).output
        assert is_left_alone(here)
    assert "expected it in R" in told


@pytest.mark.parametrize("arguments", ["export R --format fdb2 --out E", "dataset speak E --assistant --tts dir:calls"])
def test_nothing_is_written_through_links_in_a_folder_of_exports(here: Path, arguments: str) -> None:
    (here / "E").mkdir()
    for name in ("a", "b", "assistant"):
        (here / "E" / name).symlink_to(here / "precious")
    shutil.copy(Path(acts).parent / "data/smoke/records.jsonl", here / "E")
    told = command(*arguments.split())
    assert is_left_alone(here)
    assert (told.exit_code, "a link that leads out of it" in told.stderr) == (1, True)


@pytest.mark.parametrize(
    ("option", "file"),
    [("--comment", "F/table.md"), ("--comment", "R/compare.html"), ("--junit", "R/scores.json"),
     ("--junit", "R/a/session.wav"), ("--comment", "R/a/derived/labels.json"), ("--comment", "R/RUN.JSON")],
)  # fmt: skip
def test_no_comment_takes_the_place_of_a_file_of_the_run_or_of_another_output(
    here: Path, option: str, file: str
) -> None:
    for _ in range(2):
        assert f"{file}: expected a n" in refused("report", "R", "--gate", "defaults", "--figures", "F", option, file)
        assert not (here / file).exists() or (here / file).read_text().startswith("Turn-taking")
    assert command("report", "R", "--gate", "defaults", "--figures", "F", "--comment", "F/x.md").exit_code != 2


def test_a_page_to_send_does_not_replace_that_of_somebody_else(here: Path) -> None:
    page = here / "R/a/a.html"
    page.write_text("mine")
    told = command("report", "R", "--call", "a", "--embed")
    assert (told.exit_code, page.read_text(), "R/a/a.html: expected a new" in told.stderr) == (2, "mine", True)
    page.unlink()
    assert [command("report", "R", "--call", "a", "--embed").exit_code for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("content", ["[]", "{}", '{"files": {"ID": 1}, "speakers": {}}', '{"files": {}}'])
def test_a_damaged_list_of_spoken_files_is_named(here: Path, content: str) -> None:
    (here / "E").mkdir()
    records = Path(shutil.copy(Path(acts).parent / "data/smoke/records.jsonl", here / "E"))
    first = json.loads(records.read_text().partition("\n")[0])["id"]
    (here / "E/speak.json").write_text(content.replace("ID", first))
    assert "E/speak.json: damaged: " in command("dataset", "speak", "E", "--tts", "dir:calls", code=1).stderr


WRITING = (
    ("report R --gate defaults --junit {}", "x.xml"),
    ("report R --gate defaults --comment {}", "calls/a.wav"),
    ("report R --gate defaults --comment {}", "x.md"),
    ("report R --figures F", "F/fto.svg"),
    ("report R --figures F", "F/table.tex"),
    ("score R --out S", "S/scores.json"),
    ("score R --out S", "S/scores.html"),
    ("tune R --out T", "T/tune.json"),
    ("tune R --out T", "T/tune.html"),
    ("export R --format textgrid --out E", "E/a.TextGrid"),
    ("export R --format rttm --out E", "E/a.rttm"),
    ("export R --format csv --out E", "E/a.csv"),
    ("export R --format json --out E", "E/a.json"),
    ("export R --format audacity --out E", "E/a.labels.txt"),
    ("export R --format turnbench --out E", "E/turnbench.json"),
    ("export R --format fdb2 --out E", "E/a/A.wav"),
    ("gate init R --out {}", "x.toml"),
    ("replay calls --vad energy --jobs 1 --out N", "N/pages/index.html"),
    ("replay calls --vad energy --jobs 1 --out N", "N/compare.html"),
    ("run --system echo --clips calls --clock virtual --max-s 2 --vad energy --out N", "N/compare.html"),
    ("run --system echo --clips calls --clock virtual --max-s 2 --vad energy --out N", "N/pages/index.html"),
)


@pytest.mark.parametrize(("arguments", "file"), WRITING)
def test_a_file_of_somebody_else_is_kept_and_one_of_fdbcore_renewed(here: Path, arguments: str, file: str) -> None:
    path, words = here / file, arguments.format(file).split()
    mine = path.read_bytes() if path.exists() else b"my own\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(mine)
    told = command(*words)
    assert (told.exit_code, path.read_bytes()) == (2, mine), told.output
    assert re.search(f"{file}|{Path(file).parent}: expected a new|expected a new folder", told.stderr)
    if path.is_relative_to(here / "calls") or words[0] in ("gate", "run"):
        return
    path.unlink()
    if words[0] == "replay":
        shutil.rmtree(here / "N")
    codes = [command(*words).exit_code for _ in range(2)]
    assert codes[0] == codes[1] != 2


@pytest.mark.parametrize("option", ["--comment", "--junit"])
@pytest.mark.parametrize("kind", ["pipe", "link", "broken link", "run", "meta", "other output", "comment of a person"])
def test_a_comment_and_junit_replace_only_their_own_kind(here: Path, option: str, kind: str) -> None:
    path = here / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        (here / "y").write_text("mine")
        path.symlink_to("y")
    elif kind == "broken link":
        path.symlink_to("nothing")
    elif kind == "other output":
        other = {"--comment": "--junit", "--junit": "--comment"}[option]
        assert command("report", "R", "--gate", "defaults", other, path).exit_code != 2
    elif kind == "comment of a person":
        path.write_text("### ✕ Fail\n\nas I wrote")
    else:
        path = here / {"run": "R/corpus.json", "meta": "R/a/meta.json"}[kind]
    before = path.lstat(), path.is_file() and path.read_bytes()
    told = command("report", "R", "--gate", "defaults", option, path, code=2)
    expected = f"{path}: expected a (new file, or one that fdbcore wrote|name that)|got the pipe {path}"
    assert re.search(expected, told.stderr)
    after = path.lstat(), path.is_file() and path.read_bytes()
    assert (before[0].st_ino, before[0].st_mode, before[1]) == (after[0].st_ino, after[0].st_mode, after[1])


def test_one_file_is_not_written_twice(here: Path) -> None:
    told = command("report", "R", "--gate", "defaults", "--junit", "x", "--comment", "./x")
    assert (told.exit_code, (here / "x").exists()) == (2, False)
    assert "--junit x: expected another file than that of --comment" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "file"),
    [("score R", "R/scores.html"), ("score R", "R/scores.json"), ("tune R", "R/tune.html"),
     ("report R --figures F", "F/table.csv"), ("report R --figures F", "F/table.md"),
     ("report R --figures F", "F/fto.svg")],
)  # fmt: skip
def test_a_file_that_is_like_one_of_fdbcore_is_kept(here: Path, arguments: str, file: str) -> None:
    mine = {
        ".html": "<!doctype html>\n<title>What I think of fdbcore</title>",
        ".json": '{"schema": "fdbcore.mine/1"}',
        ".csv": "name,of,measure\n",
        ".md": "Turn-taking of mine\n",
        ".svg": '<svg xmlns="http://www.w3.org/2000/svg" class="" width="1" height="1" viewBox="0 0 1 1">',
    }[Path(file).suffix]
    (here / "F").mkdir()
    (here / file).write_text(mine)
    assert command(*arguments.split()).exit_code == 2
    assert (here / file).read_text() == mine


@pytest.mark.parametrize("out", ["E", None])
@pytest.mark.parametrize("form", ["textgrid", "rttm", "csv", "json", "audacity", "turnbench", "fdb2"])
def test_an_export_that_was_corrected_by_hand_is_kept_and_nothing_written(here: Path, form: str, out: str) -> None:
    export = ("export", "R", "--format", form, *(("--out", out) if out else ()))
    first = done(*export)
    *_, path = map(Path, first.stdout.split())
    exported = path.read_bytes()
    done(*REPLAY, "--set", "min_silence_ms=500")
    done(*export)  # its own are renewed
    assert path.read_bytes() != exported or form not in ("csv", "json", "turnbench")
    corrected = path.read_bytes() + b" "
    path.write_bytes(corrected)
    others = {name: Path(name).read_bytes() for name in first.stdout.split() if Path(name) != path}
    done(*REPLAY)
    told = command(*export)
    assert (told.exit_code, told.stdout, path.read_bytes()) == (2, "", corrected)
    assert f"{path}: expected a new file" in told.stderr
    assert all(Path(name).read_bytes() == content for name, content in others.items())
    assert not list(here.rglob(".fdbcore-*/"))
    path.unlink()
    done(*export)
    (here / (out or "R") / ".fdbcore-written.json").unlink()  # as an earlier version left it
    done(*export)


def test_an_export_replaces_no_pipe_and_not_what_a_link_names(here: Path) -> None:
    (here / "E").mkdir()
    for make in (os.mkfifo, lambda path: os.symlink(here / "precious/report.html", path)):
        make(here / "E/b.csv")
        told = command("export", "R", "--format", "csv", "--out", "E")
        assert "E/b.csv: expected a new file" in told.stderr
        assert (told.exit_code, os.listdir(here / "E")) == (2, ["b.csv"])
        (here / "E/b.csv").unlink()
    (here / "E/.fdbcore-written.json").write_text("[]")
    assert "E/.fdbcore-written.json: damaged" in command("export", "R", "--format", "csv", "--out", "E", code=1).stderr


@pytest.mark.parametrize("kind", ["mine", "list", "link"])
def test_a_replay_replaces_only_a_recording(here: Path, kind: str) -> None:
    (here / "a").mkdir()
    (here / "mine.json").write_text(
        {"mine": '{"schema": "mine"}', "list": "[]"}.get(kind, '{"schema": "fdbcore.recording/1"}')
    )
    make = os.symlink if kind == "link" else os.rename
    make(here / "mine.json", here / "a/meta.json")
    before = (here / "a/meta.json").read_text()
    told = command("replay", here / "calls/a.wav", "--vad", "energy", "--out", ".")
    assert told.exit_code
    assert "a: expected a new folder or an earlier recording" in told.stderr
    assert ((here / "a/meta.json").read_text(), os.listdir(here / "a")) == (before, ["meta.json"])


def test_a_run_may_be_the_current_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = ("run", "--system", "echo", "--clock", "virtual", "--max-s", 2, "--vad", "energy", "--quiet", "--clips")
    for name, out in (("L", "."), ("M/x", "..")):
        (here / name).mkdir(parents=True)
        monkeypatch.chdir(here / name)
        told = command(*live, here / "calls", "--out", out)
        # The folder above is not empty, and so is no new run.
        assert (told.exit_code, (here / "L/run.json").exists(), (here / "M/run.json").exists()) == (
            2 * (out == ".."),
            True,
            False,
        )


def test_the_page_of_a_folder_of_recordings_does_not_replace_that_of_somebody_else(here: Path) -> None:
    for name in ("corpus.json", "index.html"):
        (here / "R" / name).unlink()
    (here / "R/index.html").write_text("mine")
    for words in (["report", "R"], REPLAY):
        told = command(*words)
        assert "R/index.html: expected a new file, or one that fdbcore wrote" in told.stderr
        assert (told.exit_code, (here / "R/index.html").read_text()) == (2, "mine")


def test_no_call_has_a_name_that_its_run_needs(here: Path) -> None:
    done("score", "R")
    done("report", "R", "--baseline", shutil.copytree("R", "old"))
    live = ("run", "--system", "echo", "--clock", "virtual", "--max-s", 2, "--vad", "energy", "--quiet", "--clips")
    done(*live, "calls", "--out", "L")
    own = {"meta", "report", "derived"} | {
        item.name for run in ("R", "L") for item in Path(run).iterdir() if not (item / "meta.json").is_file()
    }
    assert {"pages", "run.json", "compare.html", "scores.json"} <= own
    for number, name in enumerate(sorted(own)):
        shutil.copy("calls/a.wav", f"calls/{name.upper() if number % 2 else name}.wav")
    for arguments in ((*REPLAY[:-1], "N"), (*live, "calls", "--out", "M")):
        done(*arguments)
        assert not own & {path.parent.name for path in Path(str(arguments[-1])).glob("*/meta.json")}
        calls = (Path(str(arguments[-1])) / "calls.csv").read_text().splitlines()
        assert len(calls) == 1 + 2 + len(own)


def test_a_run_that_moved_scores_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").mkdir()
    monkeypatch.chdir(tmp_path / "old")
    run_v3(some(Path("set.json"), ["travel_01"]), Path("R"), {"r": "rehearsed:"}, "--vad", "energy", "--no-score")
    ship(Path("R-users"), {}, print)
    assert str(Path(registry.__file__).parent) not in (Path("R-users") / SET).read_text()
    done("score", "--suite", "fdb-v3", "R", "--out", "S")
    monkeypatch.chdir((tmp_path / "old").rename(tmp_path / "new"))
    done("score", "--suite", "fdb-v3", "R", "--out", "T")
    assert Path("S/scores.json").read_bytes() == Path("T/scores.json").read_bytes()


def test_a_large_env_file_is_left_out_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values would be in the environment of every process that is started, and none could be."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(f"BIG_KEY={'x' * 400_000}")
    assert done("gate", "--help").stderr == "fdbcore: .env: expected at most 65,536 bytes, left out as a whole\n"
    assert "BIG_KEY" not in os.environ


def test_a_pipe_among_logs_is_named_and_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        write(tmp_path / "calls" / f"{name}.wav", voices(DIALOGUE))
    (tmp_path / "logs").mkdir()
    os.mkfifo(tmp_path / "logs" / "a.jsonl")
    result = done(*REPLAY, "--agent-log", "logs")
    told = " ".join(result.output.split())
    assert "a: no stage times: logs/a.jsonl: cannot be read: it is a pipe or a device" in told


def test_after_a_replay_only_a_complete_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        write(tmp_path / "calls" / f"{name}.wav", voices(DIALOGUE))
    arguments = ("replay", "calls", "--vad", "energy", "--jobs", 1, "--out")
    assert "--baseline" not in command(*arguments, "runs/1").output
    assert "fdbcore report runs/2 --baseline runs/1" in command(*arguments, "runs/2").output
    for name in "12":
        corpus = tmp_path / "runs" / name / "corpus.json"
        content = json.loads(corpus.read_text())
        content["calls"][0].update(status="waiting", unscored="not replayed yet")  # as one that was killed leaves it
        shutil.rmtree(corpus.parent / "a")
        corpus.write_text(json.dumps(content))
    assert command(*arguments, "runs/3").output.splitlines()[-1].endswith("fdbcore report runs/3 --baseline OLD")
    for name in "12":
        (tmp_path / "runs" / name / "corpus.json").write_text("{}")
    assert "fdbcore report runs/4 --baseline runs/3" in command(*arguments, "runs/4", code=0).output
