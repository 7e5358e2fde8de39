from .converse import SILENT as SILENT
from .converse import has_declined as has_declined
from .converse import said_nothing as said_nothing
from .turns import detect_turns as detect_turns
