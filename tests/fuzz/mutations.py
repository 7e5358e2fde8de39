"""What may be wrong with a file of somebody else: its structure, its bytes, or what stands at its path."""

import io
import json
import os
import re
import shutil
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

VICTIM: Final = "victim"
"""A folder beside that in which a command works; it must stay as it is."""
TEXTS: Final = (
    *("../victim", "c0/../../victim", "../victim/own.txt", "/etc/passwd", "..", ".", "", " ", "x", "A", "c1", "nan"),
    *("1_0", "١٢", "1e999", "-1", "9" * 400, "0:00-9:99", "x" * 140_000, "\x1b]0;x\x07\x1b[2J", "\u009b2J", "\u202e"),
    *("\x00", "a\nb", "\ud800", "</script><b>", "=1+1", "[x](https://x)", "`" * 3 + " " * 9000),
)
NUMBERS: Final = (0, -1, 1, 2, 5, -0.5, 1e-320, 1e308, -1e308, 2**31, 2**63, 10**18, -(10**18), 10**400, 0.1)
OTHERS: Final[tuple[Any, ...]] = (
    *(None, True, False, float("nan"), float("inf"), -float("inf"), [], {}, [None], [[]], {"x": 1}, ["A", 1]),
    *([0.1] * 3000, json.loads("[" * 150 + "]" * 150)),
)
DEEP: Final = "[" * 100_000


def ugly(rng: Random) -> Any:
    """A value that hardly any file holds."""
    return rng.choice(rng.choice((TEXTS, NUMBERS, OTHERS)))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value: a list or an object, and an index or a key of it."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    inner = [place for key in keys if isinstance(value[key], list | dict) for place in places(value[key])]
    return [(value, key) for key in keys] + inner


def as_json(text: str, rng: Random) -> tuple[str, str]:
    """One place of a JSON value is changed."""
    found = places(root := [json.loads(text)])
    holder, key = rng.choice(found)
    old = holder[key]
    how = rng.choice(("gone", "renamed", "twice", "moved", "near", "wrapped", "deep", "odd", "odd", "odd"))
    if how == "gone" and holder is not root:
        del holder[key]
    elif how == "renamed" and isinstance(holder, dict):
        holder[rng.choice(TEXTS)] = holder.pop(key)
    elif how == "twice" and isinstance(holder, list) and holder is not root:
        holder.insert(key, json.loads(json.dumps(old)))
    elif how == "moved":
        other, there = rng.choice(found)
        holder[key] = json.loads(json.dumps(other[there]))
    elif how == "near" and isinstance(old, int | float):
        holder[key] = rng.choice((-old, old * 1000, old + 0.5, str(old), old + 1, bool(old)))
    elif how == "wrapped":
        holder[key] = rng.choice(([old], {"x": old}, str(old)))
    else:
        holder[key] = "@deep" if how == "deep" else ugly(rng)
    return json.dumps(root[0]).replace('"@deep"', DEEP), f"{key}: {how}: {str(holder)[:80]}"


def as_lines(text: str, rng: Random) -> tuple[str, str]:
    """One line of JSON is changed."""
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    lines[at], done = as_json(lines[at], rng)
    return "\n".join([*lines, ""]), f"line {at + 1}: {done}"


def as_text(text: str, rng: Random) -> tuple[str, str]:
    """One number, word, quoted text or line of any text is changed."""
    found = list(re.finditer(r'"[^"\n]*"|[\d.]+|\w+|[^\w\s]', text))
    if rng.random() < 0.25 or not found:
        lines = text.splitlines(keepends=True)
        at, times = rng.randrange(len(lines)), rng.choice((0, 2, 3000))
        return "".join([*lines[:at], *lines[at : at + 1] * times, *lines[at + 1 :]]), f"line {at + 1}: {times} times"
    one = rng.choice(found)
    new = str(rng.choice((ugly(rng), ugly(rng), rng.choice(found)[0], ",x" * 20_000)))
    new = f'"{new}"' if one[0][0] == '"' and rng.random() < 0.7 else new
    return text[: one.start()] + new + text[one.end() :], f"{one[0]!r} at {one.start()}: {new[:60]!r}"


def as_arrays(data: bytes, rng: Random) -> tuple[bytes, str]:
    """One array of an .npz is gone, renamed, or another."""
    held = dict(np.load(io.BytesIO(data)))
    old = held.pop(name := rng.choice(list(held)))
    odd = np.array(rng.choice((-1, 10**12, np.nan, "x", True)))
    news = (None, odd, old.astype("U8"), old.astype("float64"), np.array([{}], dtype=object), np.stack([old, old]))
    new = rng.choice((*news, old.reshape(-1)[: old.size // 2], np.zeros(20_000_000, old.dtype)))
    held |= {} if new is None else {rng.choice((name, name, name, "x")): new}
    np.savez_compressed(out := io.BytesIO(), **held)
    return out.getvalue(), f"{name}: {None if new is None else (new.dtype, new.shape)}"


def as_columns(data: bytes, rng: Random) -> tuple[bytes, str]:
    """One column of a table in Parquet is gone or another, or the table has no row."""
    held = pq.read_table(io.BytesIO(data))
    at, value = rng.randrange(held.num_columns), rng.choice((None, True, -1, 1e308, 2**62, "x", "../victim"))
    name, how = held.column_names[at], rng.choice(("gone", "another", "another", "no row"))
    column = pa.array([value] * held.num_rows)
    held = held.slice(0, 0) if how == "no row" else held.remove_column(at)
    pq.write_table(held.add_column(at, name, column) if how == "another" else held, out := io.BytesIO())
    return out.getvalue(), f"{name}: {how}: {value!r}"


def as_header(data: bytes, rng: Random) -> tuple[bytes, str]:
    """A field in the first bytes is changed."""
    size, at = rng.choice((1, 2, 4, 8)), rng.randrange(min(len(data), 120))
    new = rng.choice((b"\0" * size, b"\xff" * size, b"\x7f".ljust(size, b"\xff"), rng.randbytes(size)))
    return data[:at] + new + data[at + size :], f"bytes {at} to {at + size}: {new.hex()}"


def as_bytes(data: bytes, rng: Random) -> tuple[bytes, str]:
    """Bytes are gone, doubled, inserted or others."""
    at, few = rng.randrange(len(data) or 1), rng.randbytes(rng.choice((1, 4, 60)))
    changes = {
        "empty": b"", "cut": data[:at], "half": data[: len(data) // 2], "no beginning": data[at:], "twice": data * 2,
        "bit": data[:at] + bytes(each ^ 1 << rng.randrange(8) for each in data[at : at + 1]) + data[at + 1 :],
        "inserted": data[:at] + few + data[at:], "noise": rng.randbytes(len(data)), "zeros": bytes(len(data)),
        "noise inside": data[:at] + few + data[at + len(few) :], "a part twice": data[:at] + data[at // 2 :],
        "UTF-16": b"\xff\xfe" + data, "UTF-32": b"\xff\xfe\0\0" + data, "Shift-JIS": "表".encode("cp932") + data,
        "backwards": data[:80] + data[:79:-1],
    }  # fmt: skip
    return changes[name := rng.choice(list(changes))], f"{name} at {at}"


def place(path: Path, rng: Random) -> str:
    """Something else stands at the path, in place of its folder, where its next version is written, or where a command
    writes into `out`."""
    victim = next(above for above in path.parents if (above / VICTIM).is_dir()) / VICTIM
    how = rng.choice(("gone", "link", "dangling", "loop", "folder", "part", "parent", "another call", "out"))
    how = "fifo" if rng.random() < 0.02 else how  # seldom, as who waits for it takes all its time
    if how == "part":
        for name in ("index.html", "report.html", "calls.csv", "facts.parquet", "scores.json", path.name):
            for part in {path.parent / f"{name}.part", path.parents[1] / f"{name}.part"}:
                part.unlink(missing_ok=True)
                part.symlink_to(victim / "own.txt")
    elif how == "another call":
        other = str(path).replace("/c0/", "/c1/") if "/c0/" in str(path) else str(path).replace("/c1/", "/c0/")
        if Path(other).is_file():
            path.write_bytes(Path(other).read_bytes())
    elif how == "out":
        (out := victim.parent / "work" / "out").mkdir(exist_ok=True)
        for name in ("c0", "c1", "d1", "pages", "calls", "reference", "derived"):
            if not (out / name).is_symlink():
                (out / name).symlink_to(victim)
    elif how == "parent" and path.parents[1] not in (victim.parent, victim.parent / "work"):  # which users name
        if path.parent.is_symlink():  # by an earlier change
            path.parent.unlink()
        else:
            shutil.rmtree(path.parent)
        path.parent.symlink_to(victim / ("derived" if path.parent.name == "derived" else "."))
    else:
        path.unlink()
        if how == "folder":
            path.mkdir()
        elif how == "fifo":
            os.mkfifo(path)
        elif how != "gone":
            path.symlink_to({"link": victim / path.name, "loop": path}.get(how, victim / "nothing"))
    return how


TEXT_FORMS: Final = {".json": as_json, ".jsonl": as_lines}
BINARY_FORMS: Final = {".npz": as_arrays, ".parquet": as_columns}
TEXT_SUFFIXES: Final = {*TEXT_FORMS, ".csv", ".tsv", ".TextGrid", ".rttm", ".txt", ".log", ".toml", ""}


def mutate(path: Path, rng: Random) -> str:
    """Change a file in one of these ways; what was done."""
    if path.is_symlink() or not path.is_file():
        return "nothing more"
    if (how := rng.random()) < 0.1:
        return f"place: {place(path, rng)}"
    data, form = path.read_bytes(), BINARY_FORMS.get(path.suffix, as_header)
    try:
        if how < 0.3:
            raise ValueError("the bytes alone")
        if path.suffix in TEXT_SUFFIXES:
            text, done = TEXT_FORMS.get(path.suffix, as_text)(data.decode(), rng)
            path.write_bytes(text.encode(errors="surrogatepass"))
        else:
            changed, done = form(data, rng)
            path.write_bytes(changed)
        return done
    except Exception:  # or it is no such file any more
        changed, done = as_bytes(data, rng)
        path.write_bytes(changed)
        return f"bytes: {done}"
