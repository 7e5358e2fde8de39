"""Denials of a phrase that is said: rules on the words before and after it in its sentence.

Words are in the normal form of `phrases`, each after a space, with "," where a clause ends.
"""

import re
from collections.abc import Callable, Collection
from typing import Final, TypeAlias

Denial: TypeAlias = Callable[[str, str], bool]
"""Takes what stands before and after a phrase."""

_NEGATORS: Final = frozenset("not no never nor neither without nobody nothing none".split())
_JAPANESE_NEGATOR: Final = re.compile(
    "(?<!つ)ない|なく|なかっ|ません|せず|ずに|[かさたらわけせてめれえ]な$|[らわけせれえ]ず$"
)
_REACH: Final = 6
"""So many words after a negator are in doubt."""
_CLAUSE_START: Final = re.compile(
    r",|\b(?:but|so|because|and|then|until|before|unless|if|when|since|while|just|instead)\b"
)
_HARMLESS: Final = re.compile(
    r"\bno (?:problem|worry|trouble|doubt|need to worry|bother|rush|later|earlier|more than|less than|fewer than)\b"
    r"|\bnot (?:only|just|more than|less than|later than|to worry|a problem)\b|\bnot (?=(?:until|before)\b)"
    r"|\b(?:do|will|must|should) not (?:forget|worry|miss|hesitate)\b|\bwhy not\b|\bcan not (?:wait|go wrong)\b"
    r"|\b(?:or|if|whether) not\b|\b(?:nothing|none|nobody) but\b"
)
_HARMLESS_JAPANESE: Final = re.compile(
    r"(?:なければ|ないと|なくては|なくちゃ)(?:[^,]{0,3}(?:なりません|ならない|いけません|いけない|だめ))?"
    r"|かもしれ(?:ない|ません)|(?:間違い|違い|問題|心配|遠慮|申し訳|変わり)[はも]?(?:ない|なく|ありません|ございません|なし)"
    r"|しか[^,]{0,6}(?:ない|ません)|だけ(?:で|じゃ)なく|ませんか|ない(?:です|でしょう)?か|変わ(?:らない|らず|りません)"
    r"|つない(?:で(?!す)|だ)|(?:構い|かまい|すみ)ません|(?:少|危|もったい|足り|とんでも)ない|忘れ(?:ず|ない|ません)"
    r"|(?:ずに|ないで|なしで)[^,]{1,8}(?:いけません|いけない|だめ|避け|控え|やめ|ないで(?:くだ|ね))"
    r"|(?:[無失な]くさ|ためらわ|迷わ|怖がら|恐れ|恥ずかしがら|諦め|あきらめ|遅らせ|捨て|後回しにし|先延ばしにし)(?:ない|ず)"
)
_LIGHT: Final = "at|on|in|for|the|a|an|any|have|need|longer|to|be|it|about|of|with|your|his|her|their|our|going|that"
_IN_CLAUSE: Final = r"(?!(?:but|so|and|if|then|until)\b)\w+"
_BE: Final = "is|are|was|were|has|have|been|be|being|now|all"
_CHANGE: Final = "mov|chang|switch|shift|went|gone|push|brought|bump|increas|updat|reschedul"

_WAS: Final = r"\b(?:was|were|had been)(?: (?:at|on|in|for|the|a|an|your|set|down|still|only|just|going|to|be))* ¦"
_PAST: Final = re.compile(_WAS)
_NOT_THIS: Final = re.compile(
    rf"\b(?:not|never|no|nor|neither|without)(?: (?:{_LIGHT}))* ¦"
    rf"|\b(?:not|no|never|without)(?: {_IN_CLAUSE}){{1,6}} n?or(?: {_IN_CLAUSE}){{0,4}} ¦"
    r"|\bno(?: \w+ of)?(?: \w+)? ¦|\bforget(?: about)?(?: \w+){0,2} ¦"
    r"|\b(?:instead of|rather than|as opposed to|in place of)(?: \w+){0,3} ¦"
)
_NO_MORE: Final = r"(?: (?!(?:but|so|if|then|until|before|without|unless|because|when|while|than|and)\b)\w+)"
_IN_LIST: Final = r"(?: (?!(?:but|so|if|then|until|because|instead)\b)\w+)"
"""A word that a denial reaches over; in a list, "and" is one, too."""
_VAIN: Final = r"(?:a waste|pointless|useless|hopeless|no (?:use|good|help|point)|out of the question)"
_TURNED: Final = re.compile(
    r"\b(?:not|never|no (?:need|point|sense|use))(?: (?:need|have))?(?: to| in)?"
    r" (?:feel|be|wait|delay|lose|losing|ignor|avoid|skip|stop|overlook|neglect|dismiss|rul(?:e|ing) out"
    r"|put(?:ting)? off|throw|give up|keep (?:it|this|that) from)\w*"
)
"""Denied avoidance of X: "don't put off X"."""
_REFRAINED: Final = re.compile(
    rf"(?:^|,|\b(?:and|so|but|or|please|just|also|either)) (?:do not|never){_NO_MORE}{{1,7}} ¦"
    rf"|\bno (?:need|point|use|sense){_NO_MORE}{{0,6}} ¦|\bno need for(?:(?: ,)?{_IN_LIST}){{1,6}}(?: ,)? ¦"
    rf"|\b(?:need not|do not (?:need|have) to|by no mean|rather not){_NO_MORE}{{1,5}} ¦"
    rf"|\b(?:avoid\w*|(?:stay|keep|steer) (?:away|clear) (?:from|of)){_NO_MORE}{{0,2}} ¦"
    rf"|¦ (?:and{_NO_MORE}{{1,3}} )?do nothing\b"
    rf"|\bwould not (?:bother|use|go|recommend|advise|suggest|trust|pick|choose|rely|take){_NO_MORE}{{0,5}} ¦"
    rf"|\bnothing(?: (?:is|are|was|at|all|to|that|here|really|need))* ¦"
    rf"|\b(?:skipp\w+|omitt\w+|(?:leaving|left) (?:out|off|aside)){_IN_LIST}{{0,6}} ¦"
    rf"|\b(?:skip|omit|leave (?:out|off|aside)){_NO_MORE}{{0,6}} ¦"
    r"|¦.*\b(?:leave|left|leaving) (?:it|that|those|them|these|both|all)(?: \w+)? (?:off|out|alone|aside)(?= ,|$)"
    r"|¦(?:(?! but ).)*\b(?:is|are|was|were) not (?:in (?:there|it)|there|mentioned|included)\b"
    r"|¦.* , (?:neither|none)(?: of (?:that|those|these|them|it))? (?:is|are|was|were|will|would|work|help|do|can)\b"
    rf"|¦{_NO_MORE}{{0,3}}(?: and{_NO_MORE}{{1,3}})? (?:is|are|was|were|would be)(?: \w+)? {_VAIN}\b"
    rf"|¦ (?:and|or|nor){_NO_MORE}{{1,3}} (?:are|were) (?:not|no longer|(?:both|all)(?: now)? (?:out|off|gone))\b"
    r"|¦(?: \w+)? (?:will|would|do|doe|can) not (?:be (?:any|much|of)|help|touch|matter|change|reach|get)\b"
)
"""Words around a phrase that is left out, or advised against, with all that stands beside it."""
_DROPPED: Final = re.compile(
    r"\b(?:used to (?:be|say|cost)|formerly|originally|previously)(?: \w+){0,3} ¦"
    rf"|{_WAS}.*\b(?:now|but|instead|before|until)\b"
    rf"|\b(?:{_CHANGE})\w*\b.* from(?: \w+){{0,2}} ¦(?: \w+){{0,3}} to\b"
    r"|\b(?:chang|switch|swap|replac|turn)\w* (?:the |your |that )?¦(?: \w+){0,2} (?:to|for|with|by|into)\b"
    r"|¦ (?:\w+ )?(?:is|are|was|were)(?: \w+)? (?:not|no longer|never)\b"
    r"|¦ (?:will|would|do|doe) not (?:work|do|suit|fit|apply|count|hold)\b|¦(?: now)? (?:cancell?ed|become|became)\b"
    rf"|¦(?: (?:{_BE}))+ (?:gone|cancell?ed|dropped|removed|deleted|scrapped|replaced|off|out)\b"
)
"""Words before and after a phrase (¦) that no longer holds."""
_IN_DOUBT: Final = re.compile(
    r"(?: \w+)? (?:used to|was the|were the|would only|would have|(?:is|would be) (?:too|later|earlier))\b"
)
_NOT_THIS_JAPANESE: Final = re.compile(
    r"[^,]{0,6}?(?:(?:では|じゃ|で)(?:なく|ない|ありません|ございません)|の代わり|に代わ|に代え)"
    r"|(?:[をはも])?(?:せず|しない|しなか|しません)"
)
_DROPPED_JAPANESE: Final = re.compile(
    r"[^,]{0,5}?[はをも],?(?:もう)?(?:やめ|取り消|取りやめ|キャンセル|中止|外し|消し|消え|なくな)"
    r"|[^,]{0,4}?から[^,]{1,14}?[にへ],?(?:変|移|ずら|な[っりる]|動|上が|下が|直|替|切り|繰り|早|遅|延)"
    r"|(?:日|さん)?[をが][^,]{1,10}?[にへとで](?:変|替え|差し替|入れ替|置き換|切り替|直[しす])"
    r"|[^,]{0,12}?(?:なくて[もは]?(?:結構|いい|よい|大丈夫)|(?:必要|要)[はも]?(?:な[いく]|ありません|ございません)|要りません)"
)
_TOPIC: Final = r",?(?:(?!です|ます|ました|から|ので|けど)(?:[^,]|(?<=[はもやとか\u30a0-\u9fff]),)){0,24}?"
"""Text that may stand between a phrase and the particle of the list that it begins."""
_LEFT: Final = (
    r"(?:(?:書か|入れ|入れてい|載せ|載せてい|使わ|行わ|預け|聞か|見|言わ|かけ|出さ|出)(?:な[いくか]|ず|ませ)"
    r"|(?:書き|使い|行い|聞き|言い|出し)ませ)"
)
_REFRAINED_JAPANESE: Final = re.compile(
    rf"{_TOPIC}[をはもにと],?[^,]{{0,6}}?{_LEFT}|[^,]{{0,14}}?は,[^,]{{0,8}}?{_LEFT}"
    rf"|{_TOPIC}[をはもに],?[^,]{{0,6}}?(?:ないで(?:くだ|おき|ね|ほし)|なくて[もは]?(?:結構|いい|よい|大丈夫))"
    rf"|{_TOPIC}[はも],?[^,]{{0,4}}?(?:関係(?:[はも]?な|あり)|お?(?:すすめ|勧め)(?:しま|はしま|でき)せん|役に立[たち][なま]|意味[がはも]?[なあ]|効[かき][なま]|省[いき]"
    r"|だめ|ダメ|無駄|むだ|なしで|不要|いらな|要らな)|して(?:い|おり)ません|ないで(?:くだ|おき|ね)"
)
_OTHERWISE_JAPANESE: Final = re.compile(
    r"(?:本来|本当|普段|普通|いつも)(?:は|なら(?:ば)?)[^,]*¦[^,]*(?:(?:け[どれ]|[すだ]が)|, ?(?:でも|ただ|まあ))"
    r"|¦[^,]*(?:,[^,]*)?と?[言い]いたいところ"
)
_TWICE_DENIED: Final = re.compile(r"[^,]{0,3}?(?:こと|わけ)(?:で?[はも])?(?:ない|ありません)")
_IN_DOUBT_JAPANESE: Final = re.compile(
    r"[^,]{0,12}?(?:ません|ない|なかった|なくて|ずに|ず,)|[^,]{0,20}?だった(?:場合|ら)"
    r"|[^,]{0,4}では?[^,]{0,4}(?:すぎ|過ぎ|足り|遅い|早い)"
)


def denies(words: Collection[str], phrase: str) -> bool:
    """True if a phrase, of these words, holds a negator."""
    return not _NEGATORS.isdisjoint(words) or _JAPANESE_NEGATOR.search(phrase) is not None


def is_twice_denied(_: str, after: str) -> bool:
    """True if a phrase that denies is denied itself: できないことはありません."""
    return _TWICE_DENIED.match(_unspaced(after)) is not None


def is_not_this(before: str, after: str) -> bool:
    """True if another is meant in its place: "not X", "X instead of this", "Xではなく"."""
    return bool(_NOT_THIS.search(f"{_HARMLESS.sub(' ', before)} ¦") or _NOT_THIS_JAPANESE.match(_unspaced(after)))


def is_dropped(before: str, after: str) -> bool:
    """True if it does not hold, or no longer: "from X to Y", "X is cancelled", "XからYに変更"."""
    marked = f"{before} ¦{_HARMLESS.sub(' ', after)}"
    return bool(_DROPPED.search(marked) or _DROPPED_JAPANESE.match(_unspaced(after)))


def is_refrained(before: str, after: str) -> bool:
    """True if it is left out or advised against: "don't go to X", "X, so leave that alone", "Xは入れませんでした"."""
    marked = f"{_TURNED.sub(' ', _HARMLESS.sub(' ', before))} ¦{after}"
    return bool(_REFRAINED.search(marked) or _REFRAINED_JAPANESE.match(_unspaced(after)) or is_otherwise(before, after))


def is_otherwise(before: str, after: str) -> bool:
    """True if it would hold at other times, but not now: "本来はXですけど"."""
    return _OTHERWISE_JAPANESE.search(f"{before}¦{after}".replace(" ", "")) is not None


def is_past(before: str, _: str) -> bool:
    """True if it was so, and perhaps still is: "it was on X"."""
    return _PAST.search(f"{before} ¦") is not None


def is_in_doubt(before: str, after: str) -> bool:
    """True if a negator stands anywhere in its clause ("I won't put you down for X"), or it was so, or would be.

    Two negators cancel each other out.
    """
    clause = _CLAUSE_START.split(_HARMLESS.sub(" ", before))[-1].split()
    if sum(word in _NEGATORS for word in clause) % 2 and not _NEGATORS.isdisjoint(clause[-_REACH:]):
        return True
    return bool(_IN_DOUBT.match(after) or _IN_DOUBT_JAPANESE.match(_unspaced(after)))


def _unspaced(after: str) -> str:
    return _HARMLESS_JAPANESE.sub("", after.replace(" ", ""))
