"""`fdbcore scenarios import` of the released folder of Full-Duplex-Bench v3, built by a script, and `validate`."""

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import command, refused
from helpers.released_folder import SPEAKERS, call, imported, release, result, scenarios, write_wav
from helpers.smoke import some
from helpers.v3_items import label_of
from jsonschema import Draft202012Validator
from msgspec import to_builtins

from fdbcore.audio.decode import AudioFile
from fdbcore.suites.fdb_v3.cases import SystemResult
from fdbcore.suites.fdb_v3.compat import LoggedCall, passes, wanted
from fdbcore.suites.fdb_v3.folder import import_folder
from fdbcore.suites.fdb_v3.scenarios import repaired
from fdbcore.suites.schemas import schema

ID = "travel_01"
SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release, and what was made of it beside."""
    data = release(tmp_path_factory.mktemp("whole"))
    for path in data.glob("*/metadata.json"):
        expected = json.loads(path.read_text())["expected_tool_calls"]
        made = [call(each["function"], **each["args"]) for each in expected]
        (path.parent / "result_ours.json").write_text(json.dumps(result(made)))
        write_wav(path.parent / "output_ours.wav", 24_000, 1, 2)
    done = imported(data, data.parent / "fdb3.json", code=0)
    (data.parent / "printed.txt").write_text(done.output)
    return data.parent


def records(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "fdb3.json").read_text())["record"]
    return found


def test_a_whole_release_is_imported(whole: Path) -> None:
    file = json.loads((whole / "fdb3.json").read_text())
    Draft202012Validator(schema("fdb_v3/scenarios")).validate(file)
    assert file["card"] == {
        "recordings": 100, "scenarios": 79, "silent_scenarios": 21, "speakers": 12, "synthetic": False,
        **dict.fromkeys(("annotators", "guideline", "agreement"), "not published"),
    }  # fmt: skip
    assert "CC BY-NC 4.0" in file["credit"]
    printed = (whole / "printed.txt").read_text()
    assert "100 recordings of 79 scenarios by 12 speakers; 21 scenarios without a recording" in printed
    assert len({record["id"] for record in file["record"]}) == 100
    by_id = {entry["id"]: entry for entry in scenarios()}
    for record in file["record"]:
        entry = by_id[record["scenario"]]
        assert record["speaker"] in SPEAKERS
        assert record["script"] == entry["dialogue"][0]["user"]
        assert record["reply"] == "Done."
        assert [(each["function"], each["args"]) for each in record["as_released"]] == [
            (each["function"], each["args"]) for each in entry["expected_tool_calls"]
        ]
        assert record.get("rollback", None) == ({"original": {"date": None}} if record["rollback_test"] else None)


def test_recordings_of_all_rates_channels_and_widths_are_found_where_they_are(whole: Path) -> None:
    forms: Counter[tuple[int, int, int]] = Counter()
    for record in records(whole):
        audio = record["audio"]
        with AudioFile(whole / audio["path"]) as file:
            assert sum(len(block) for block in file.blocks()) == 480
        forms[audio["rate_hz"], audio["channels"], audio["bit_depth"]] += 1
    assert set(forms) == {(48_000, 1, 16), (48_000, 2, 16), (16_000, 1, 16), (48_000, 1, 32)}


def test_the_flagged_records_are_repaired_each_with_its_reason(whole: Path) -> None:
    flagged = [record for record in records(whole) if "repairs" in record]
    assert Counter(record["domain"] for record in flagged) == {
        "housing_location": 18, "ecommerce_support": 2, "finance_billing": 2,
    }  # fmt: skip
    repairs = [repair for record in flagged for repair in record["repairs"]]
    assert Counter((each["kind"], each.get("argument")) for each in repairs) == {
        ("missing_argument", "city"): 1, ("missing_argument", "bedrooms"): 6, ("missing_argument", "max_price"): 8,
        ("unknown_argument", "pets_allowed"): 1, ("unknown_argument", "category"): 1,
        ("filter_type", "value"): 3, ("unsaid_city", "city"): 1, ("no_predicate", None): 2,
        ("missing_reference", "origin_address"): 1, ("missing_reference", "product_id"): 1,
    }  # fmt: skip
    assert all(each["reason"] for each in repairs)
    for record in records(whole):
        if "repairs" not in record:
            assert record["repaired"] == record["as_released"]


def fixed(*calls: dict[str, Any], script: str = "in Bonn") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = to_builtins(repaired(label_of(*calls), script)[0])
    return found


def test_what_repairs_make_of_a_label() -> None:
    found = fixed(
        call("search_products", query="tent", category="outdoor"),
        call("add_to_cart", product_id="$RESULT_0.cheapest_product_id"),
        call("search_apartments", city="Bad Bonn", pets_allowed=True),
        call("calculate_commute", origin_address="$RESULT_2.apartments[0].address", destination_address="A"),
        call("update_search_filter", filter_name="pets", value=True),
        {**call("track_order", order_id="1"), "note": "unless it is late"},
        {**call("track_order", order_id="1"), "note": "if more than 3 days late"},
    )
    assert [each["args"] for each in found[:5]] == [
        {"query": "tent"},
        {"product_id": "$RESULT_0.products[0].product_id"},
        {"city": "Bad Bonn", "bedrooms": "$ANY", "max_price": "$ANY"},
        {"origin_address": "$ANY", "destination_address": "A"},
        {"filter_name": "pets", "value": "true"},
    ]
    assert [each.get("optional", False) for each in found[5:]] == [True, False]
    assert fixed(call("search_apartments", city="Rome", bedrooms=1, max_price=9))[0]["args"]["city"] == "$ANY"
    booking = call("book_flight", passenger_name="Ann", flight_id="$RESULT_0.flights[0].number")
    assert fixed(booking) == [call("book_flight", passenger_name="Ann")]
    assert fixed(call("teleport", to="Rome")) == [call("teleport", to="Rome")]


def one(folder: Path, changes: Callable[[Path, dict[str, Any]], None] = lambda folder, entry: None) -> Path:
    """A release with one recording; `changes` alters its folder and its metadata."""
    place = folder / "data" / f"{ID}_{SPEAKERS[0]}"
    place.mkdir(parents=True)
    entry = scenarios()[0] | {"id": ID}
    write_wav(place / "input.wav", 16_000, 1, 2)
    changes(place, entry)
    if not (place / "metadata.json").exists():
        (place / "metadata.json").write_text(json.dumps(entry))
    return folder / "data"


def shown(output: str) -> dict[str, list[str]]:
    """The values of the systems, by measure, as printed."""
    rows = [re.split(r"  +| (?=-)", line) for line in output.splitlines()]
    return {name: values for name, *values in rows if name and values}


def test_results_beside_the_recordings_score_by_both_labels(whole: Path, tmp_path: Path) -> None:
    printed = (whole / "printed.txt").read_text()
    table = shown(printed)
    assert table["n"] == ["79"]
    assert [table[name] for name in ("Pass@1", "turn-take", "interruption")] == [["1.000"], ["1.000"], ["0.000"]]
    assert [table[name] for name in ("first word", "tool call")] == [["2.00 s"], ["1.00 s"]]
    assert "need a" in printed
    assert all(record["results"][0]["audio"] for record in records(whole) if "results" in record)

    def corrected(place: Path, entry: dict[str, Any]) -> None:
        """The system pays by the wrong account, then by the right one, and nothing else."""
        entry["expected_tool_calls"] = [call("modify_autopay", bill_type="power", source_account="savings")]
        entry["num_expected_calls"] = 1
        made = [call("modify_autopay", bill_type="power", source_account=each) for each in ("checking", "savings")]
        (place / "result_x.json").write_text(json.dumps(result(made)))

    printed = imported(one(tmp_path, corrected), tmp_path / "out.json").output
    table = shown(printed)
    assert [table[name] for name in ("Pass@1", "tool selection", "final state")] == [["0.000"], ["0.667"], ["1.000"]]


def test_pass_rates_are_shown_by_slice(tmp_path: Path) -> None:
    """Every second easy recording passes: the odd ones of the first 36, of which 20 are of travel."""
    data = release(tmp_path)
    for number, entry in enumerate(scenarios()):
        place = data / f"{entry['id']}_{SPEAKERS[number % 12]}"
        for path in data.glob(f"{entry['id']}_*"):
            shutil.rmtree(path)
        place.mkdir()
        (place / "metadata.json").write_text(json.dumps(entry))
        write_wav(place / "input.wav", 16_000, 1, 2)
        passes = entry["difficulty"] == "easy" and number % 2
        made = entry["expected_tool_calls"] if passes else []
        (place / "result_x.json").write_text(
            json.dumps(result([call(each["function"], **each["args"]) for each in made]))
        )
    for path in data.glob("0*"):
        shutil.rmtree(path)
    table = shown(imported(data, tmp_path / "out.json").output)
    assert table["n"] == ["100"]
    assert table["Pass@1"] == ["0.180"]
    assert (table["easy"], table["medium"], table["hard"]) == (["0.500 (36)"], ["0.000 (34)"], ["0.000 (30)"])
    assert table["travel_identity"] == ["0.500 (20)"]
    assert table["finance_billing"] == ["0.320 (25)"]
    tagged = [each for each in scenarios() if "PAUSE" in each["disfluency_features"]]
    assert table["PAUSE"] == [f"{6 / len(tagged):.3f} ({len(tagged)})"]
    assert table["rollback"] == ["0.000 (10)"]
    assert table["no rollback"] == ["0.200 (90)"]


def test_a_run_that_failed_and_older_times_are_read(tmp_path: Path) -> None:
    def results(place: Path, entry: dict[str, Any]) -> None:
        (place / "result_old.json").write_text(
            json.dumps(result([], actual_tool_calls=[{"function": "book_flight", "args": {}, "timestamp": 9.5}]))
        )
        (place / "result_gone.json").write_text(json.dumps({"pid": "p", "status": "inference_failed"}))

    printed = imported(one(tmp_path, results), tmp_path / "out.json").output
    assert "gone: 1 run of it not completed; scored by what was logged" in printed
    table = shown(printed)
    assert re.search("^ +gone +old$", printed, re.MULTILINE)
    assert table["tool call"] == ["-", "-0.50 s"]
    assert table["turn-take"] == ["0.000", "1.000"]


def put(name: str, value: Any) -> Callable[[Path, dict[str, Any]], None]:
    def change(place: Path, entry: dict[str, Any]) -> None:
        entry[name] = value

    return change


def result_with(**changes: Any) -> Callable[[Path, dict[str, Any]], None]:
    def change(place: Path, entry: dict[str, Any]) -> None:
        (place / "result_x.json").write_text(json.dumps(result([], **changes)))

    return change


def timed(start_s: float, **more: float) -> Callable[[Path, dict[str, Any]], None]:
    return result_with(actual_tool_calls=[{**call("f"), "timestamp_start": start_s, **more}])


def write(name: str, text: str) -> Callable[[Path, dict[str, Any]], None]:
    def change(place: Path, entry: dict[str, Any]) -> None:
        (place / name).write_text(text)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("domain", "sports"), "metadata.json: domain: expected one of travel_identity, finance_billing, "),
        (put("difficulty", 3), "metadata.json: difficulty: expected one of easy, medium, hard, got 3"),
        (put("disfluency_features", ["COUGH"]), "disfluency_features 1: expected one of FILLER, PAUSE, "),
        (put("dialogue", []), "metadata.json: expected dialogue, got none"),
        (put("dialogue", [{"user": 7}]), "dialogue 1: user: expected a text, got 7"),
        (put("num_expected_calls", 5), "num_expected_calls: expected 2, as calls are listed, got 5"),
        (put("state_rollback_test", "yes"), "state_rollback_test: expected true or false, got 'yes'"),
        (put("expected_tool_calls", [{"args": {}}]), "expected_tool_calls 1: expected function, got none"),
        (put("expected_tool_calls", [call("f") | {"args": 3}]), "expected_tool_calls 1: args: expected a table, got 3"),
        (
            put("expected_tool_calls", [call("fly")]),
            "expected_tool_calls 1: function: expected one of search_flights, ",
        ),
        (put("id", "travel_99"), "id: expected 'travel_01', as the folder is named, got 'travel_99'"),
        (write("metadata.json", "{"), "metadata.json: expected JSON, got: "),
        (
            put("expected_tool_calls", [call("track_order", order_id=math.nan)]),
            "metadata.json: expected JSON, got: NaN",
        ),
        (write("input.wav", "RIFF"), "input.wav: expected "),
    ],
)
def test_a_record_that_is_not_understood_is_named_and_left_out(
    tmp_path: Path, change: Callable[[Path, dict[str, Any]], None], said: str
) -> None:
    done = imported(one(tmp_path, change), tmp_path / "out.json", code=2)
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("fdbcore scenarios import: left out: ")
    assert said in first
    assert "expected recordings that can be used, got none" in last
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (result_with(status=7), "result_x.json: status: expected a text, got 7"),
        (result_with(actual_tool_calls=[{"args": {}}]), "actual_tool_calls 1: expected function, got none"),
        (result_with(asr_chunks=[{"text": "a", "timestamp": [1.0]}]), "expected a start and an end, got [1.0]"),
        (result_with(asr_chunks=[{"text": "a", "timestamp": [1.0, None]}]), "timestamp 2: expected a number, got None"),
        (
            timed(1e308),
            "result_x.json: f: timestamp_start: expected s from the start of the stream, -86400 to 86400, got 1e+308",
        ),
        (timed(1.7e9), "f: timestamp_start: expected s from the start of the stream, -86400 to 86400, got 1.7e+09"),
        (timed(4.0, timestamp_end=3.0), "f: timestamp_end: expected s from the start of the stream, 4 to 86400, got 3"),
        (
            result_with(asr_chunks=[{"text": "a", "timestamp": [2.0, 1.0]}]),
            "'a': timestamp: expected s from the start of the stream, 2 to 86400, got 1",
        ),
        (result_with(input_asr_chunks=[], user_speech_end_rel=-1e9), "user_speech_end_rel: expected s from the start"),
        (result_with(user_speech_end_rel=10**400), "result_x.json: expected JSON, got: 10000000000000000000 is beyond"),
        (write("result_x.json", "["), "result_x.json: expected JSON, got: "),
        (write("result_x.json", "[" * 100_000), "result_x.json: expected JSON, got: "),
        (write("result_x.json", "[]"), "result_x.json: expected a table, got []"),
        (
            result_with(actual_tool_calls=[{**call("f", amount=math.inf), "timestamp_start": 1.0}]),
            "result_x.json: expected JSON, got: Infinity is no JSON",
        ),
        (write("result_x.json", '{"actual_tool_calls": [1e999]}'), "1e999 is beyond all numbers"),
        (write("result_x.json", r'{"transcript": "\ud800"}'), "or holds text that is not valid"),
    ],
)
def test_a_result_that_is_not_understood_is_named_and_the_record_stays(
    tmp_path: Path, change: Callable[[Path, dict[str, Any]], None], said: str
) -> None:
    done = imported(one(tmp_path, change), tmp_path / "out.json", code=1)
    (line,) = done.stderr.splitlines()
    assert said in line
    (record,) = json.loads((tmp_path / "out.json").read_text())["record"]
    assert "results" not in record


def test_keys_that_are_not_understood_are_named_and_nothing_is_left_out(tmp_path: Path) -> None:
    def change(place: Path, entry: dict[str, Any]) -> None:
        entry["mood"] = "calm"
        entry["expected_tool_calls"][0] |= {"why": "a note", "weight": 3}
        chunks = [{"text": "a", "timestamp": [1.0, 2.0], "confidence": 1}] * 5
        (place / "result_x.json").write_text(json.dumps(result([], asr_chunks=chunks)))

    done = imported(one(tmp_path, change), tmp_path / "out.json", code=0)
    assert [line.removeprefix("fdbcore scenarios import: warning: ") for line in done.stderr.splitlines()] == [
        "expected_tool_calls: weight: not understood, and not read (in 1)",
        "metadata.json: mood: not understood, and not read (in 1)",
        "result_*.json: asr_chunks.confidence: not understood, and not read (in 1)",
    ]
    (record,) = json.loads((tmp_path / "out.json").read_text())["record"]
    assert record["as_released"][0]["note"] == "a note"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("travel_01_abc", "expected a folder EXAMPLE_SPEAKER or SPEAKER/example_EXAMPLE"),
        (f"travel_02_{SPEAKERS[0]}", "expected metadata.json, or 'travel_02' in benchmark_data_v2.json, found neither"),
    ],
)
def test_a_folder_of_another_name_is_left_out(tmp_path: Path, name: str, said: str) -> None:
    data = one(tmp_path)
    (data / name).mkdir()
    write_wav(data / name / "input.wav", 16_000, 1, 2)
    assert said in imported(data, tmp_path / "out.json", code=1).stderr


def test_a_bare_list_beside_the_folder_and_another_codec_are_read(tmp_path: Path) -> None:
    data = one(tmp_path)
    (place,) = data.iterdir()
    (place / "metadata.json").unlink()
    (place / "input.wav").unlink()
    shutil.copy(SAMPLE, place / "input.flac")
    (tmp_path / "benchmark_data_v2.json").write_text(json.dumps([scenarios()[0] | {"id": ID}]))
    imported(data, tmp_path / "out.json", code=0)
    assert json.loads((tmp_path / "out.json").read_text())["card"]["silent_scenarios"] == 0
    (record,) = json.loads((tmp_path / "out.json").read_text())["record"]
    assert (record["audio"]["path"], record["audio"]["rate_hz"]) == (f"data/{place.name}/input.flac", 24_000)


def test_a_folder_without_recordings_is_one_line(tmp_path: Path) -> None:
    done = imported(tmp_path, tmp_path / "out.json", code=2)
    told = " ".join(done.stderr.split())
    assert f"import: expected --suite, one of fdb-v3, staged: none of them knows {tmp_path}" in told
    done = command("scenarios", "--suite", "fdb-v3", "import", tmp_path, "--out", tmp_path / "out.json", code=2)
    assert "expected folders with input.wav, input.flac or input.opus, found none" in done.stderr.splitlines()[-1]


def test_the_file_to_write_must_be_named(tmp_path: Path) -> None:
    assert "Missing option '--out'" in refused("scenarios", "import", one(tmp_path))


def test_scores_name_a_result_that_is_left_out_by_its_path_in_the_folder(tmp_path: Path) -> None:
    data = one(tmp_path, result_with(status=7))
    (problem,) = import_folder(data, tmp_path / "out.json", lambda text: None).left_out(data)
    assert problem.where == str(data)
    assert problem.reason.startswith(f"left out: {ID}_{SPEAKERS[0]}/result_x.json: status: expected a text, ")


def validated(path: Path) -> tuple[int, str, str]:
    done = command("scenarios", "validate", path)
    return done.exit_code, done.stdout, done.stderr


def test_a_file_of_recorded_scenarios_is_checked(tmp_path: Path) -> None:
    data, out = one(tmp_path), tmp_path / "out.json"
    assert imported(data, out).exit_code == 0
    card = "annotators: not published\nguideline: not published\nagreement: not published\n"
    assert validated(out)[:2] == (0, f"1 recording of 1 scenario by 1 speaker\n{card}")
    file = json.loads(out.read_text())
    (record,) = file["record"]
    file["record"] = [record, {**record, "audio": {**record["audio"], "path": "gone.wav"}}]
    out.write_text(json.dumps(file))
    code, _, said = validated(out)
    assert code == 1
    assert [line.partition(f"{record['id']}: ")[2] or line for line in said.splitlines()] == [
        "id: expected an id of its own, got that of 2 records",
        "expected a file at gone.wav, found none",
    ]
    file["record"] = [{**record, "domain": "sports", "mood": "calm"}]
    out.write_text(json.dumps(file))
    code, _, said = validated(out)
    assert code == 1
    assert len(said.splitlines()) == 2
    assert "got 'mood'" in said
    assert "domain: expected one of travel_identity" in said
    out.write_text('{"schema": "mine"}')
    assert 'expected "schema": "fdbcore.fdb_v3_scenarios/1", got \'mine\'' in validated(out)[2]


def test_what_is_counted_is_the_file_and_not_its_data_card(tmp_path: Path) -> None:
    code, shown, said = validated(some(tmp_path / "three.json", ("travel_01", "travel_02", "shop_08")))
    assert (code, shown.splitlines()[:2], said) == (
        0,
        [
            "3 recordings of 3 scenarios by 3 speakers, synthetic",
            "its data card says otherwise: 40 recordings, 40 scenarios, 8 speakers",
        ],
        "",
    )


PAID = {bill: call("modify_autopay", bill_type=bill, source_account="savings") for bill in "abc"}


@pytest.mark.parametrize("made", ["", "a", "b", "c", "ab", "ba", "bc", "abc", "cab"])
def test_an_optional_call_takes_none_of_a_required_one_of_its_function(made: str) -> None:
    """a and c may be made, b must be."""
    label = label_of({**PAID["a"], "optional": True}, PAID["b"], {**PAID["c"], "optional": True})
    calls = tuple(LoggedCall("modify_autopay", PAID[bill]["args"], 1.0) for bill in made)
    kept = [call.args["bill_type"] for call in wanted(label, calls)]
    assert kept == ["b"] if len(made) < 2 else kept == sorted({*made})
    done = SystemResult(False, "done", (), (), 0.0, calls)
    assert done.leaves_right_state(label) is ("b" in made)
    if "b" in made and made == "".join(sorted(made)):
        assert passes(done.log(label))
