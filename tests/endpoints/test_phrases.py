"""What the examiner takes for a phrase that is said and meant, against naive oracles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.endpoints.examiner.numerals import with_digits
from fdbcore.endpoints.examiner.phrases import is_said

BELOW_20 = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()

numbers = st.integers(0, 9999)


def in_words(number: int, joint: str = "-", link: str = " and ") -> str:
    """A number as it is read: a thousand, a hundred and so on, from the largest part down."""
    if number < 20:
        return BELOW_20[number]
    if number < 100:
        return TENS[number // 10] + (joint + BELOW_20[number % 10] if number % 10 else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    rest = number % size
    before_rest = " " if rest >= 100 else link
    return f"{in_words(number // size)} {name}" + (before_rest + in_words(rest, joint, link) if rest else "")


def in_kanji(number: int) -> str:
    digits = "〇一二三四五六七八九"
    parts = zip((1000, 100, 10, 1), ("千", "百", "十", ""), strict=True)
    found = [(number // size % 10, name) for size, name in parts]
    text = "".join(("" if digit == 1 and name else digits[digit]) + name for digit, name in found if digit)
    return text or "〇"


def says(words: str, phrase: str) -> bool:
    return is_said(words, [[phrase]])


def test_all_numbers_in_words_are_those_in_digits() -> None:
    for number in range(10_000):
        spoken = in_words(number), in_words(number, " ", " "), f"{number:,}", in_kanji(number)
        assert {with_digits(each) for each in spoken} == {str(number)}


@pytest.mark.parametrize("first", range(0, 10_000, 2_000))
def test_no_number_is_held_by_another(first: int) -> None:
    for number in range(first, first + 2_000, 17):
        near = {number + 1, abs(number - 1), number % 10, number % 100, number // 10, number // 100} - {number}
        for spoken in (f"That's {in_words(number)} in all.", f"合計{in_kanji(number)}円です。"):
            assert says(spoken, str(number)), spoken
            assert not [each for each in near if says(spoken, str(each))], spoken


@given(numbers, numbers)
def test_a_number_is_said_by_itself_alone(one: int, other: int) -> None:
    assert says(f"It's {in_words(one)}.", in_words(other)) is (one == other)
    assert says(f"It's {one}.", in_words(other)) is (one == other)
    assert says(f"{in_kanji(one)}個です。", f"{in_kanji(other)}個") is (one == other)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 23), st.integers(0, 59))
def test_a_time_is_that_of_its_clock_whatever_its_half(hour: int, minute: int, other: int, beside: int) -> None:
    alike = hour % 12 == other % 12 and minute == beside
    may_be = alike and (hour == other or 0 < min(hour, other) <= 12 or {hour, other} == {0, 12})
    assert says(f"At {hour}:{minute:02}, then.", f"{other}:{beside:02}") is may_be
    half, other_half = ("am" if each < 12 else "pm" for each in (hour, other))
    pair = f"{hour % 12 or 12}:{minute:02} {half}", f"{other % 12 or 12}:{beside:02}{other_half}"
    assert says(pair[0], pair[1]) is (hour == other and minute == beside)


SPOKEN = {
    "4:30": ["half past four", "four thirty", "4.30", "4:30 pm", "16:30", "at half four", "四時半", "4時30分"],
    "4:45": ["quarter to five", "a quarter to 5", "fifteen minutes before five", "5時15分前", "午後四時四十五分"],
    "4:50": ["at ten to five", "ten minutes to five", "五時のちょうど十分前"],
    "9:05": ["nine oh five", "five past nine", "9:05am", "午前九時五分"],
    "16:00": ["four o'clock", "at 4", "4pm", "four in the afternoon", "十六時", "夕方の四時"],
    "12:00": ["noon", "12 noon", "正午"],
    "850": ["eight fifty", "8.50", "$8.50", "eight pounds fifty", "eight hundred and fifty", "八百五十円"],
    "0.3": ["nought point three", "zero point three kilos", "0.3", "零点三", "0.30"],
    "6": ["half a dozen", "six"],
    "21st": ["the twenty-first", "21st of June"],
    "12000": ["12,000円", "一万二千円", "1万2千円", "1.2万円", "twelve thousand"],
}


@pytest.mark.parametrize(("phrase", "spoken"), SPOKEN.items())
def test_a_value_is_one_however_it_is_said(phrase: str, spoken: list[str]) -> None:
    assert [each for each in spoken if not says(each, phrase)] == []


@pytest.mark.parametrize(
    ("phrase", "spoken"),
    [
        ("4", ["at 4:30", "four thirty", "half past four", "四時半", "24時間", "fourteen"]),
        ("4 am", ["4 pm", "four in the afternoon", "午後四時", "16:00"]),
        ("twenty", ["twenty-two", "two hundred and twenty"]),
        ("30", ["12:30", "at half past one", "thirty-first"]),
        ("430", ["sixteen hundred", "4300"]),
        ("千円", ["二千円", "千二百円"]),
    ],
)
def test_a_value_is_in_no_other(phrase: str, spoken: list[str]) -> None:
    assert [each for each in spoken if says(each, phrase)] == []


MEANT = [
    "No problem, Friday it is.",
    "Why not Friday?",
    "No, Friday.",
    "Not only Friday, Saturday too.",
    "It's not Thursday, it's Friday.",
    "I've moved it from Thursday to Friday.",
    "Instead of Thursday we meet on Friday.",
    "It was Thursday, and now it's Friday.",
    "Don't forget Friday.",
    "No later than Friday.",
    "Don't do it until Friday.",
    "I can't do Thursday, so Friday.",
    "It was Friday that you asked for.",
    "Friday can't have been better.",
    "It's open from Friday to Sunday.",
]
DENIED = [
    "Not Friday.",
    "It's not on Friday.",
    "Friday isn't free.",
    "Friday won't work.",
    "I've no Thursday or Friday.",
    "It's no longer Friday.",
    "Thursday instead of Friday.",
    "Thursday rather than Friday.",
    "I've moved it from Friday to Saturday.",
    "It used to be Friday.",
    "It was on Friday until now.",
    "Friday's cancelled.",
    "Friday is off.",
    "Friday becomes Saturday.",
    "I've changed Friday to Saturday.",
]


@pytest.mark.parametrize("spoken", MEANT)
def test_a_value_beside_a_denied_one_is_meant(spoken: str) -> None:
    assert says(spoken, "friday")
    assert not is_said(spoken, [["friday"]], ["friday"]) or " was " in spoken or "can't have" in spoken


@pytest.mark.parametrize("spoken", DENIED)
def test_a_denied_value_is_not_meant(spoken: str) -> None:
    assert not says(spoken, "friday")
    assert is_said(f"{spoken} Right.", [["right"]], ["friday"])


@pytest.mark.parametrize(
    "spoken",
    [
        "木曜ではなく金曜です。", "金曜です、木曜じゃありません。",
        "木曜はやめて金曜にします。", "木曜から金曜に変更しました。",
        "木曜の代わりに金曜で。", "木曜日は取り消して、金曜を入れました。", "木曜はキャンセルです。金曜ですね。",
    ],
)  # fmt: skip
def test_in_japanese_what_is_replaced_is_not_meant(spoken: str) -> None:
    assert says(spoken, "金曜")
    assert not says(spoken, "木曜")


@pytest.mark.parametrize(
    "spoken",
    ["金曜しかありません。", "金曜に変えなければなりません。", "金曜かもしれません。", "金曜で間違いありません。"],
)
def test_in_japanese_not_all_that_ends_with_no_denies(spoken: str) -> None:
    assert not is_said(spoken, [["金"]], ["金曜"])


LEFT_OUT = {
    "friday": [
        "Don't come on Monday, and don't even think of Friday.",
        "There's no need to come as early as Friday.",
        "There's no need for Monday, Friday or Sunday.",
        "You needn't bother with Friday.",
        "I wouldn't go for Friday.",
        "Nothing needs Friday.",
        "I skipped the words Monday and Friday.",
        "Leave out Friday.",
        "Friday sounded dull, so I left it out.",
        "Friday sounded dull, so the word isn't in there.",
        "Monday or Friday? Neither will work.",
        "Friday or Monday. None of that helps.",
        "Friday is a waste of time.",
        "Friday and Monday are both gone.",
        "Friday won't help.",
        "By no means choose Friday.",
        "Stay away from Friday.",
        "Monday and Friday do nothing.",
    ],
    "金曜": [
        "金曜も土曜も使わない、と承りました。", "金曜とは書かないでおきました。",
        "金曜という日は、遠いので入れませんでした。",
        "金曜や土曜のことは聞かなくて大丈夫です。", "金曜には預けないでください。",
        "金曜も、土曜も、日曜もおすすめしません。",
        "金曜と土曜は関係ないです。", "金曜も土曜もだめです。", "金曜は今は役に立ちません。",
        "金曜のことは省きました。",
        "本来は金曜なんですけど、土曜で。", "本来は金曜です。でも土曜で。",
        "金曜です。って言いたいところですけど、土曜で。",
    ],
}  # fmt: skip
ADVISED = {
    "friday": [
        "Why don't you try Friday?",
        "Don't wait, take Friday.",
        "Don't do it before Friday.",
        "There's no need to panic, just take Friday.",
        "Leave out Monday, and take Friday.",
        "Skip Monday and take Friday.",
        "Don't put off seeing her on Friday.",
        "Don't be afraid to come on Friday.",
        "Friday, and keep it off the floor.",
        "Friday at ten. None of the others can come.",
    ],
    "金曜": [
        "本当は金曜がいいですよ。", "金曜に行くので、土曜は使いません。", "金曜を入れ、土曜は入れません。",
        "金曜を諦めないでくださいね。", "金曜に聞かずに飲まないでください。",
        "金曜でも大丈夫ですが、土曜はだめです。", "金曜も開いていますので、我慢しないでくださいね。",
        "金曜と同じ線につないでください。",
    ],
}  # fmt: skip


@pytest.mark.parametrize("phrase", LEFT_OUT)
def test_what_is_left_out_or_advised_against_is_not_meant(phrase: str) -> None:
    assert [each for each in LEFT_OUT[phrase] if says(each, phrase)] == []
    assert [each for each in ADVISED[phrase] if not says(each, phrase)] == []


def test_what_is_left_out_is_meant_where_that_is_demanded() -> None:
    assert is_said("You needn't touch the wool coat.", [["wool", "no wool"]])
    assert is_said("入り口にユリを入れません。", [["ユリ", "ユリは使わな"]])


@pytest.mark.parametrize(
    ("phrase", "spoken", "is_there"),
    [
        ("not able", "I'm not able to.", True),
        ("can't", "I cannot do that.", True),
        ("won't", "I will not.", True),
        ("できません", "それはできません。", True),
        ("allergy", "His allergies, all of them.", True),
        ("latte", "Two lattes.", True),
        ("cat", "The cattle.", False),
        ("café", "At the cafe.", True),
        ("leave out", "I'll leave the pesto out.", True),
        ("leave out", "I'll leave the door of the house out.", False),
        ("river home", "River, home.", True),
    ],
)
def test_a_phrase_is_one_of_whole_words(phrase: str, spoken: str, is_there: bool) -> None:
    assert says(spoken, phrase) is is_there


PARTS = (
    "half past quarter to four 4 99 午後 時 半 分前 千 百 万 〇 . , am pm 12 :30 th first hundred and oh point dozen "
    "not from moved 、 。 ない ではなく minutes o'clock noon pounds no"
)
texts = st.lists(st.sampled_from([*PARTS.split(), "9" * 5000]), max_size=8)


@given(texts, texts, st.sampled_from(["", " "]))
def test_no_words_are_too_strange(words: list[str], phrase: list[str], between: str) -> None:
    said, sought = between.join(words), between.join(phrase)
    is_said(said, [[sought]], [sought], [([sought], ["4"]), (["x"], ["9"])])
    assert is_said(f"{said}. Yes, {sought}", [["yes"]])


ROOMS = [(["max"], ["room five", "5"]), (["hugo"], ["room seven", "7"])]


@pytest.mark.parametrize(
    ("spoken", "fits"),
    [
        ("Max is in room five and Hugo in room seven.", True),
        ("Room five is Max's, and seven is Hugo's.", True),
        ("Max is in five, and in seven there's Hugo.", True),
        ("Max and Hugo are in five and seven.", True),
        ("Max isn't in seven but in five. Hugo's in seven.", True),
        ("Hugo's in five and Max in seven.", False),
        ("Max and Hugo are in seven and five.", False),
        ("Max is in seven, and in five there's Hugo.", False),
        ("Max is in five.", False),
        ("Max and Hugo are both in five.", False),
    ],
)
def test_each_key_has_its_own_value(spoken: str, fits: bool) -> None:
    assert is_said(spoken, [], (), ROOMS) is fits
