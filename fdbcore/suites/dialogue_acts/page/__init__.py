"""Views of scored replies: the scorecard, its words, drawings, and the tables of the paper."""
