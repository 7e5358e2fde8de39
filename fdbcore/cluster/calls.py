"""Holds live calls on the nodes of a Ray cluster: `CallsOnCluster`, which is `HeldCalls`.

An actor on each node takes all of its processors, so that nothing else of the cluster runs beside live calls, and holds
them as they are held on one machine. A process of our own speaks to Ray; it and the calls end with the command.
"""

import socket
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, NamedTuple

from fdbcore.clock import now_ns
from fdbcore.cluster.tasks import JOINING_S, Here, RayEntry, why_not_joined
from fdbcore.recording.run import LOG
from fdbcore.runs.calls_at_once import needed_calls_at_once
from fdbcore.runs.held_here import CallNews, CallsHere, Ended, LiveCall, lost
from fdbcore.runtime.process import WorkerProcess
from fdbcore.runtime.waits import Wait
from fdbcore.session.converse import OPENING, LiveSettings

_LOOK_S: Final = 0.25  # wait of a node for something to tell
_POLL_S: Final = 0.02  # wait of the process for messages of nodes before it looks for new calls
_NODES_EVERY_NS: Final = 10**9  # interval at which it looks which nodes there are
# A call that was lost is held again when what still runs of it there has ended: `workers`.
_ENDING_NS: Final = 7 * 10**9
# A process that does not answer for so long is ended: Ray takes half of it to notice that a node died.
_GONE_NS: Final = 40 * 10**9
_CLOSING_S: Final = 20.0  # time for nodes that were asked to end their calls


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The facts that a node needs. calls: at a time; None for as many as it holds on time."""

    here: Here
    run_path: Path
    settings: LiveSettings
    calls: int | None


class _Told(NamedTuple):
    """A message of a node. at_once: how many calls it can hold; 0 while it loads. ticks: of those that it holds.

    error: why it can hold no other call.
    """

    at_once: int
    news: CallNews
    ticks: Mapping[int, int]
    error: str | None


class CallsOnCluster:
    """Live calls, `calls_per_node` on each node, or as many as it holds on time. `HeldCalls` says the rest.

    A node of which that is not known measures it first, in two minutes. A node that joins later holds calls, too. The
    calls of one that dies are invalid, for the reason that it died.
    """

    def __init__(self, entry: RayEntry, run_path: Path, settings: LiveSettings, calls_per_node: int | None) -> None:
        self.error: str | None = None
        self.at_once = 0
        self._entry = entry
        self._has_joined = False
        self._room = 0
        self._ticks: dict[int, int] = {}
        self._began_ns = now_ns()
        log = (run_path / LOG).resolve()
        wanted = _Wanted(Here.with_log(log), run_path.resolve(), settings, calls_per_node)
        self._process = WorkerProcess(log, _speak_to_ray, entry.address, wanted)

    def room(self) -> int:
        """See `HeldCalls`."""
        return self._room

    def hold(self, call: LiveCall) -> None:
        """See `HeldCalls`."""
        self._room -= 1
        self._ticks[call.slot] = OPENING
        self._process.send(call)

    def news(self, within_s: float) -> CallNews:
        """See `HeldCalls`."""
        ended: list[Ended] = []
        waits: list[Wait] = []
        if not wait([self._process.connection], within_s):
            if not self._has_joined and now_ns() - self._began_ns > 1e9 * JOINING_S:
                told = f"expected a node whose processors are free within {JOINING_S:.0f} s, got none"
                self.error = str(self._entry.refusal(told))
            return CallNews()
        received = self._process.received()
        if received is None:
            self.error = f"the process that speaks to Ray died: {self._process.cause_of_death()}"
            ended = [lost(slot, self.error) for slot in self._ticks]
        for message in received or ():
            match message:
                case str():
                    self.error = str(self._entry.refusal(message))
                case int():
                    self._has_joined, self.at_once = True, message
                case CallNews() as news, ticks:
                    ended += news.ended
                    waits += news.waits
                    self._ticks.update((slot, tick) for slot, tick in ticks.items() if slot in self._ticks)
        for each in ended:
            self._ticks.pop(each.slot, None)
        self._room = max(0, self.at_once - len(self._ticks))
        return CallNews(ended, waits)

    def tick(self, slot: int) -> int:
        """See `HeldCalls`."""
        return self._ticks.get(slot, OPENING)

    def close(self) -> None:
        """See `HeldCalls`. A node without calls may be measuring how many it holds, which need not come to an end."""
        self._process.close(leaving_s=1.5 * _CLOSING_S if self._ticks else 0)


@dataclass(slots=True)
class _Node:
    """A node, and the calls that it was given. begun: those that it does not know of yet. asked: for what it tells.

    at_once: how many it can hold; None until it has told anything. lost_ns: since when it does not answer.
    """

    name: str
    actor: Any
    asked: Any = None
    at_once: int | None = None
    begun: list[LiveCall] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    lost_ns: int | None = None


def _speak_to_ray(connection: Connection, address: str, wanted: _Wanted) -> None:
    """Speak to Ray: the life of the process. It takes `LiveCall`s, and sends how many can be held, once a node has
    joined, and (CallNews, ticks); or a text if none can be held.
    """
    if (refusal := why_not_joined(address)) is not None:
        connection.send(refusal)
        return
    _Nodes(connection, wanted).serve()


class _Nodes:
    """The nodes of the cluster that hold calls, or will."""

    def __init__(self, connection: Connection, wanted: _Wanted) -> None:
        self._connection = connection
        self._wanted = wanted
        self._nodes: dict[str, _Node] = {}
        self._unplaced: deque[LiveCall] = deque()
        self._at_once: int | None = None
        self._looked_ns = -_NODES_EVERY_NS

    def serve(self) -> None:
        """Hold calls until the command closes the connection; then end them."""
        while self._take_calls():
            if now_ns() - self._looked_ns >= _NODES_EVERY_NS:
                self._looked_ns = now_ns()
                self._look_for_nodes()
            self._place_calls()
            self._ask_nodes()
            self._hear_nodes()
            heard = [node.at_once for node in self._nodes.values() if node.at_once is not None]
            if (heard or self._at_once) and sum(heard) != self._at_once:
                self._at_once = sum(heard)
                self._connection.send(self._at_once)
        self._end_calls()

    def _take_calls(self) -> bool:
        """Take the calls that the command sends; whether it may send more."""
        try:
            while self._connection.poll(0 if self._nodes else _POLL_S):
                self._unplaced.append(self._connection.recv())
        except EOFError:
            return False
        return True

    def _look_for_nodes(self) -> None:
        """Have new nodes join, and give up those that have not answered for long."""
        import ray

        found = {each["NodeID"]: each for each in ray.nodes() if each["Alive"]}
        for node_id, node in [*self._nodes.items()]:
            lost_for_ns = 0 if node.lost_ns is None else now_ns() - node.lost_ns
            if lost_for_ns >= (_GONE_NS if node_id in found else _ENDING_NS):
                what = "process" if node_id in found else "node"
                reason = f"the {what} of the cluster that held the call died: {node.name}"
                self._connection.send((CallNews([lost(slot, reason) for slot in node.held]), {}))
                ray.kill(self._nodes.pop(node_id).actor)
        for node_id, each in found.items():
            if node_id not in self._nodes and each["Resources"].get("CPU", 0) >= 1:
                self._nodes[node_id] = _Node(each["NodeManagerHostname"], _actor_on(each, self._wanted))

    def _place_calls(self) -> None:
        """Give each call to the node that holds the fewest."""
        while self._unplaced:
            free = [node for node in self._nodes.values() if len(node.held) < (node.at_once or 0)]
            if not free:
                return
            node = min(free, key=lambda each: len(each.held))
            node.held.add(self._unplaced[0].slot)
            node.begun.append(self._unplaced.popleft())

    def _ask_nodes(self) -> None:
        for node in self._nodes.values():
            if node.asked is None and node.lost_ns is None:
                node.asked = node.actor.told.remote(node.begun)
                node.begun = []

    def _hear_nodes(self) -> None:
        """Pass on what nodes tell, if they do within the time of a look."""
        import ray

        asked = {node.asked: node for node in self._nodes.values() if node.asked is not None}
        done, _ = ray.wait([*asked], timeout=_POLL_S) if asked else ([], [])
        for ref in done:
            node = asked[ref]
            node.asked = None
            self._hear(node, ref)

    def _hear(self, node: _Node, ref: Any) -> None:  # noqa: ANN401
        import ray
        from ray.exceptions import RayActorError, RayError, RayTaskError

        try:
            there: _Told = ray.get(ref)
        except RayTaskError as error:
            self._connection.send(f"{node.name} cannot hold calls: {str(error).splitlines()[-1]}")
        except RayError as error:
            told = str(error).splitlines()[0]
            print(f"{node.name}: {told}", flush=True)
            node.lost_ns, node.at_once = now_ns(), 0
            if isinstance(error, RayActorError) and error.actor_init_failed:
                self._connection.send(f"{node.name} cannot hold calls: {told}")
        else:
            node.at_once = there.at_once
            node.held -= {each.slot for each in there.news.ended}
            if there.news.ended or there.news.waits or there.ticks:
                self._connection.send((there.news, there.ticks))
            if there.error is not None:
                self._connection.send(there.error)

    def _end_calls(self) -> None:
        import ray

        ending = [node.actor.close.remote() for node in self._nodes.values() if node.lost_ns is None]
        if ending:
            ray.wait(ending, num_returns=len(ending), timeout=_CLOSING_S)


def _actor_on(node: Mapping[str, Any], wanted: _Wanted) -> Any:  # noqa: ANN401
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    of_node = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    processors = node["Resources"]["CPU"]
    return ray.remote(_NodeCalls).options(num_cpus=processors, scheduling_strategy=of_node).remote(wanted)


class _NodeCalls:
    """The actor of a node. Its first answer says that it has joined; what takes longer comes after it."""

    def __init__(self, wanted: _Wanted) -> None:
        self._wanted = wanted
        self._at_end = ExitStack()
        self._waiting: deque[LiveCall] = deque()
        self._held: set[int] = set()
        self._calls: CallsHere | None = None
        self._has_answered = self._is_ready = False
        self._lacking = wanted.here.lacking()
        if self._lacking is None:
            self._at_end.enter_context(wanted.here.there())

    def told(self, begun: Sequence[LiveCall]) -> _Told:
        """Begin calls, and tell what happens."""
        if not self._has_answered or self._lacking is not None:
            self._has_answered = True
            return _Told(0, CallNews(), {}, self._lacking)
        if self._calls is None:
            settings = self._wanted.settings
            most = self._wanted.calls or needed_calls_at_once(settings.realtime)
            print(f"{socket.gethostname()}: {most} calls at a time", flush=True)  # into the log
            self._calls = CallsHere(self._wanted.run_path, settings, most)
            self._at_end.callback(self._calls.close)
        self._waiting += begun
        room = self._calls.room()
        self._is_ready = self._is_ready or room > 0
        while self._waiting and self._calls.room():
            self._held.add(self._waiting[0].slot)
            self._calls.hold(self._waiting.popleft())
        news = self._calls.news(_LOOK_S)
        self._held -= {each.slot for each in news.ended}
        ticks = {slot: self._calls.tick(slot) for slot in self._held}
        return _Told(self._calls.at_once if self._is_ready else 0, news, ticks, self._calls.error)

    def close(self) -> None:
        """End the calls."""
        self._at_end.close()
