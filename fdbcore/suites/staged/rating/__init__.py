"""Ratings of staged dialogues by people: a blind sample, the page that takes ratings, and how far raters agree.

The unit is the dialogue: a person rates it as a whole. A judge scores events, so its mean over the events of a dialogue
stands beside a person's rating.
"""
