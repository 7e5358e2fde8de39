from .faults import ERROR as ERROR
from .function_world import SETTINGS as SETTINGS
from .function_world import FunctionWorld as FunctionWorld
from .latency import LATENCY as LATENCY
from .latency import PROFILES as PROFILES
