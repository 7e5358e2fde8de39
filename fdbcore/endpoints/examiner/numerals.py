"""Numbers and times as values: "eight fifty" is 850, 8:50 and 8.50; "half past four" and 四時半 are 4:30 and 16:30."""

import re
from collections.abc import Callable
from functools import cache
from typing import Final

_UNITS: Final = "one two three four five six seven eight nine".split()
_TEENS: Final = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NTH: Final = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}  # fmt: skip
_VALUES: Final = {
    "zero": 0, "nought": 0, "oh": 0, "a": 1, **dict(zip(_UNITS + _TEENS, range(1, 20), strict=True)),
    **dict(zip(_TENS, range(20, 100, 10), strict=True)),
}  # fmt: skip
_KANJI: Final = {**dict(zip("〇零一二三四五六七八九", (0, *range(10)), strict=True)), "十": 10, "百": 100, "千": 1000}

_U, _T, _Y = ("|".join(words) for words in (_UNITS, _TEENS, _TENS))
_BELOW_100: Final = rf"(?:(?:{_Y})(?:[ -](?:{_U})\b)?|{_T}|{_U})\b"
_HUNDREDS: Final = rf"(?:(?:a|{_BELOW_100}) hundred\b(?: (?:and )?{_BELOW_100})?)"
_THOUSANDS: Final = rf"(?:(?:a|{_BELOW_100}) thousand\b(?:,? (?:and )?(?:{_HUNDREDS}|{_BELOW_100}))?)"
_DIGIT: Final = rf"(?:{_U}|oh|zero)\b"
_SINGLE_DIGITS: Final = rf"(?:{_U}|zero)(?:[ -]{_DIGIT}){{2,}}"
_IN_TWO: Final = rf"{_BELOW_100}[ -](?:oh (?:{_U})\b|(?:(?:{_Y})(?:[ -](?:{_U})\b)?|{_T})\b(?!-[a-z]))"
_CARDINAL: Final = re.compile(
    rf"\b(?:{_SINGLE_DIGITS}|{_THOUSANDS}|{_HUNDREDS}|{_IN_TWO}|{_BELOW_100}|(?:zero|nought)\b)"
)
_WORD: Final = re.compile(r"[a-z]+")
_KANJI_RUN: Final = re.compile(
    r"(?<!\d)(?:\d+(?:\.\d+)?)?[〇零一二三四五六七八九十百千万][\d〇零一二三四五六七八九十百千万]*"
)
_TIME: Final = re.compile(r"(\d{1,2})(?::(\d\d))?(am|pm)?")
_CLOCK: Final = "at|by|until|till|before|after"


def with_digits(text: str) -> str:
    """A text in small letters with all numbers in digits, times as 4:30 or 4:30pm, ordinal numbers as 3th."""
    for pattern, written in _STEPS:
        text = pattern.sub(written, text)
    return text


@cache
def alike(sought: str, said: str, surely: bool = False) -> bool:
    """True if two words are the same one or the same number. Times differ by am and pm only if both say it.

    surely: the half of the day that is sought has to be said.
    """
    if sought == said or not (sought[0].isdigit() and said[0].isdigit()):
        return sought == said
    minutes, those_said = _minutes(sought), _minutes(said)
    if surely and len(minutes) == 1 and len(those_said) != 1:
        return False
    return bool(minutes & those_said if minutes and those_said else _written(sought) & _written(said))


def _minutes(number: str) -> frozenset[int]:
    """The minutes of the day that a time may mean; none if it is not marked as a time."""
    found = _TIME.fullmatch(number)
    if not found or not (found[2] or found[3]) or int(found[1]) > 24:
        return frozenset()
    hour, minute = int(found[1]), int(found[2] or 0)
    halves = {"am": (0,), "pm": (12,), None: (0, 12)}[found[3] if 0 < hour <= 12 else None]
    hours = [hour % 12 + half for half in halves] if 0 < hour <= 12 else [hour % 24]
    return frozenset(each * 60 + minute for each in hours)


def _written(number: str) -> frozenset[str]:
    """A number as it may be written or said without a mark: 8.50 also as 850, 16:30 as 430, 21th as 21."""
    if number.endswith("th"):
        return frozenset({number} | ({number[:-2]} if int(number[:-2]) > 9 else set()))
    if found := _TIME.fullmatch(number):
        hour, minute = int(found[1]), int(found[2] or 0)
        if not found[2] and not found[3]:
            return frozenset({number})
        hours = {hour, hour % 12 or 12} if hour > 12 else {hour, hour % 12 + 12} if found[3] == "pm" else {hour}
        return frozenset(f"{each}{minute:02}" if minute else str(each) for each in hours)
    whole, _, part = number.partition(".")
    short = part.rstrip("0")
    joined = {whole + part} if len(part) == 2 and short and int(whole) else set()
    return frozenset({f"{whole}.{short}" if short else whole} | joined)


def _cardinal(found: re.Match[str]) -> str:
    words = [word for word in _WORD.findall(found[0]) if word != "and"]
    if len(words) > 2 and not {"hundred", "thousand"} & set(words) and all(_VALUES[word] < 10 for word in words):
        return "".join(str(_VALUES[word]) for word in words)
    total = current = 0
    for before, word in zip(["", *words], words, strict=False):
        if word == "hundred":
            current *= 100
        elif word == "thousand":
            total, current = total + 1000 * current, 0
        else:
            in_two = before and before not in ("hundred", "thousand") and not _is_unit_after_tens(before, word)
            current = current * (100 if in_two else 1) + _VALUES[word]
    return str(total + current)


def _is_unit_after_tens(before: str, word: str) -> bool:
    return (before in _TENS and word in _UNITS) or before == "oh"


def _kanji(found: re.Match[str]) -> str:
    run = found[0]
    if not re.search("[十百千万]", run):
        return "".join(str(_KANJI.get(each, each)) for each in run)
    above, _, below = run.rpartition("万")
    total = 10000 * _below_10000(above.replace("万", "") or "1") if "万" in run else 0
    return f"{total + _below_10000(below):.10g}"


def _below_10000(run: str) -> float:
    total, current = 0.0, ""
    for each in run:
        if each in "十百千":
            total, current = total + float(current or 1) * _KANJI[each], ""
        else:
            current += str(_KANJI.get(each, each))
    return total + float(current or 0)


def _before_the_hour(found: re.Match[str]) -> str:
    """A quarter to five, ten to five."""
    minutes = 60 - int(found["minutes"] or 15)
    return f"{found['lead'] or ''}{(int(found['hour']) + 11) % 12 or 12}:{minutes:02}"


def _japanese_time(found: re.Match[str]) -> str:
    minutes = 60 * int(found["hour"]) + (30 if found["rest"] == "半" else int(found["minutes"] or found["short"] or 0))
    if found["to"]:
        minutes -= 2 * int(found["minutes"])
    half = "" if not found["half"] else "am" if found["half"].startswith(("午前", "朝")) else "pm"
    kept = "" if (found["half"] or "").startswith("午") else found["half"] or ""
    return f"{kept} {minutes // 60}:{minutes % 60:02}{half} "


_STEPS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        (r"\bno one\b", "nobody"),
        (rf"\b(the|this|that|which|each|every|any|other|another|last|next|{'|'.join(_NTH)}) ones?\b", r"\1"),
        (r"(?<=\d),(?=\d{3}(?!\d))", ""),
        (_KANJI_RUN, _kanji),
        (rf"\b(?:(twenty|thirty)[ -])?({'|'.join(_NTH)})\b", lambda m: f"{_VALUES.get(m[1], 0) + _NTH[m[2]]}th"),
        (r"(\d)(?:st|nd|rd)\b", r"\1th"),
        (_CARDINAL, _cardinal),
        (r"\bhalf a dozen\b", "6"),
        (r"\b(?:(\d{1,4}) |a )?dozen\b", lambda m: str(12 * int(m[1] or 1))),
        (r"(?<=\d)(?: point |点)(?=\d)", "."),
        (r"\b(\d+) and a half\b", r"\1.5"),
        (r"\b(\d+) (?:pound|dollar|euro)s? (?:and )?(\d\d)\b(?: cents?\b| pence\b)?", r"\1.\2"),
        (r"\bhalf past (\d+)", r"\1:30"),
        (rf"\b({_CLOCK}) half (\d+)\b", r"\1 \2:30"),
        (r"\b(?:a )?quarter past (\d+)", r"\1:15"),
        (r"\b(\d{1,2})(?: minutes?)? past (\d{1,2})\b", lambda m: f"{m[2]}:{m[1]:0>2}"),
        (r"(?P<lead>)\b(?:a )?quarter(?P<minutes>) to (?P<hour>\d{1,2})", _before_the_hour),
        (rf"\b(?P<lead>(?:{_CLOCK}) )(?P<minutes>5|10|20|25) to (?P<hour>\d{{1,2}})\b", _before_the_hour),
        (r"\b(?P<lead>)(?P<minutes>\d{1,2}) minutes? (?:to|before) (?P<hour>\d{1,2})\b(?! minute)", _before_the_hour),
        (
            r"(?P<half>午前|午後|(?:朝|昼|夕方|夜)の?)?(?<!\d)(?P<hour>\d{1,2})(?::(?P<short>\d\d)(?!\d)|"
            r"時(?!間)(?P<rest>半|(?:の?(?:ちょうど)?(?=\d+分前))?(?P<minutes>\d{1,2})分(?P<to>前)?)?)",
            _japanese_time,
        ),
        (r"\b(?:12 )?(?:noon|midday)\b|正午", " 12:00pm "),
        (r"\b(\d{1,2})[.:]?(\d\d)? *([ap])\.? ?m\b\.?", lambda m: f"{m[1]}{':' + m[2] if m[2] else ''}{m[3]}m"),
        (r"\b(\d+)(?::00)? ?o'clock\b", r"\1:00"),
        (r"\b(\d{1,2}(?::\d\d)?)(?= (?:in the|this|tomorrow) morning)", r"\1am"),
        (r"\b(\d{1,2}(?::\d\d)?)(?= (?:(?:in the|this|tomorrow) (?:afternoon|evening)|at night|tonight))", r"\1pm"),
    )
)
