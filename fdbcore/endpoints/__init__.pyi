from .examiner.actor import SCRIPTED as SCRIPTED
from .examiner.actor import known_actor as known_actor
from .examiner.agenda import Verdict as Verdict
from .examiner.brief import Brief as Brief
from .examiner.brief import Goal as Goal
from .examiner.pacing import OPENS as OPENS
from .examiner.pacing import PACINGS as PACINGS
from .examiner.voice import spoken as spoken
