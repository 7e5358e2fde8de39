"""What the columns, the rows and the words of a scorecard mean."""

from __future__ import annotations

from typing import Final

LEGEND: Final = (
    "WED: what it costs to turn the reply into the reference (less is better), by inserting the missing, deleting the "
    "redundant, substituting the swapped. WLCS: share of the reply's weight that is in the reference, in its order "
    "(more is better). recall: as WLCS, share of the reference's weight; F1 of the two. uniform: all acts weigh the "
    "same."
)
LEGEND_OF_ROWS: Final = (
    "ceiling: the reference texts, annotated again. always Inform, most frequent (sequence of acts), best constant "
    "(sequence with the least mean WED), shuffled (other records' references): replies that do not listen."
)

CONTENT_LEGEND: Final = (
    "content right: replies whose content the judge finds right, of those that it gave a verdict on; a reply that was "
    "not given is not right."
)

CAUTION: Final = (
    "Where acts are annotated by acts.ja.txt, as in the shipped set and by --annotator, it decides borders that the "
    "paper leaves open (advice that was asked for is a Suggestion, 「分かりません」 a Commissive, and so on): such "
    "scores cannot be compared with the paper's."
)
"""The warning that stands beside the rows of the paper."""

TERMS: Final = {
    "Dialogue act": "What a part of a reply does: one of "
    "Question (質問), Check-Question (確認質問), Answer (回答), Inform (情報提供), Request (依頼), Suggestion (提案), "
    "Commissive (約束・承諾). A reply is a sequence of acts.",
    "Importance": "The share of the reply that an act is, from 0 to 1; those of a reply sum to 1.",
    "Distance (WED)": "Weighted dialogue-act edit distance: the least cost of turning the reply's acts into the "
    "reference's. 0 is the same acts in the same order, whatever their importance; 1 is a reply that was not given; "
    "it can exceed 1. It is the sum of what is missing, redundant and swapped.",
    "Missing": "Acts that only the reference has; each costs its importance. The paper calls it insertion.",
    "Redundant": "Acts that only the reply has; each costs its importance. The paper calls it deletion.",
    "Swapped": "One act in the place of another; it costs half of both importances. The paper calls it substitution.",
    "Weighted LCS": "The greatest importance, on the reply's side, of acts that both sequences have in the same order. "
    "A reply of one act can have all of it.",
    "Recall": "The same with the importances of the reference. Not in the paper.",
    "F1": "The harmonic mean of weighted LCS and recall. Not in the paper.",
    "Content right": "What a judge says, if one was asked (--judge): the reply is true in the situation and does what "
    "the user needs, as the situation and the good replies say. Acts do not tell this.",
    "Ceiling": "The reference texts themselves, annotated again by the same annotator: how far two annotations "
    "of one text are apart. A system may come nearer, as its replies are other texts.",
    "Baselines": "Replies that ignore the request: what a score must exceed to mean anything. The best constant is the "
    "sequence that gets the least mean WED as the reply to everything: what a deaf system can get.",
    "Uniform weights": "A control: every act of a sequence weighs the same.",
    "Smallest detectable": "The difference that this many records would show four times in five.",
    "p (Holm)": "How likely so great a difference is if the systems do not differ, corrected for all comparisons made.",
}
