"""The order in which the nodes of a graph run, chosen so that the most bytes that are needed at one time are few.

What is needed while a node runs follows from the set of nodes that have run, whatever their order was. So a walk over
these sets (the downsets of the graph) finds the best order: of all ways to a set only the best has to be known. (The
approach of Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices",
2020.) A node that needs no more than what was needed already and leaves no more than there was before runs at once,
since to wait with it gains nothing (Liu, "An Application of Generalized Tree Pebbling to Sparse Matrix Factorization",
1987). Where there are too many sets, the most promising of each size are pursued, and the bound says how much another
order could gain at most.

Bytes are counted as the memory planner can save them at best: views cost nothing, results lie over inputs as far as
kernels allow, and what a concatenation holds or a slice is lies in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from .nnacl_kernels import planner
from .nnacl_kernels.catalogue import ALIAS_IN_PLACE, ALIAS_VIEW, LEAD_NONE

_MOST_TRIALS = 30_000
_MOST_ROUNDS = 8
_MOST_OVERRUN = 4
"""Times the trials of a round that one may take where so many nodes are ready that a single set for each size is too
many."""
_MOST_NODES = 4_000


@dataclass(frozen=True)
class Order:
    """An order of nodes and what is known about it. All sizes in bytes, each tensor rounded up to the alignment."""

    nodes: tuple[int, ...]
    """Their positions in the order that was given."""
    given_peak: int
    """The most bytes needed at one time in the order that was given."""
    peak: int
    """The same in this order."""
    bound: int
    """No order needs less."""

    @property
    def is_optimal(self) -> bool:
        return self.peak == self.bound


def choose_order(
    tensors: Sequence[planner.PlanTensor],
    nodes: Sequence[planner.PlanNode],
    inputs: Sequence[int],
    outputs: Sequence[int],
    alignment: int,
    *,
    most_trials: int = _MOST_TRIALS,
) -> Order:
    """The best order for nodes that are given in an order in which they can run; that one, if none is better.

    Takes what ``planner.plan_memory`` takes; ``outputs`` are the tensors that are needed after the last node. Where
    all sets take more than ``most_trials`` trials of a node, the result need not be the best; up to eight times as many
    are then spent on the most promising sets. The same graph gives the same order on every machine.
    """
    costs = _Costs(tensors, nodes, inputs, outputs, alignment)
    given = tuple(range(len(nodes)))
    steps = costs.steps(given)
    peak = max(steps, default=costs.weigh(costs.start))
    if not nodes or len(nodes) > _MOST_NODES:
        return Order(given, peak, peak, max((costs.least(node) for node in given), default=peak))
    if costs.least(steps.index(peak)) == peak:
        return Order(given, peak, peak, peak)
    bound = max(costs.least(node) for node in given)
    found, complete = _search(costs, peak, most_trials, every_set=True)
    if not complete and max(costs.steps(deep := _depth_first(costs))) < peak:
        found = deep
    for _ in range(_MOST_ROUNDS if not complete else 0):
        limit = peak if found is None else max(costs.steps(found))
        again, complete = _search(costs, limit, most_trials, every_set=False)
        if again is None:
            break
        found = again
    best = max(costs.steps(found)) if found is not None else peak
    return Order(found or given, peak, best, best if complete else bound)


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


class _Costs:
    """What a graph needs. Sets of nodes, and of blocks (tensors that share memory, by the first of them), are masks."""

    def __init__(
        self,
        tensors: Sequence[planner.PlanTensor],
        nodes: Sequence[planner.PlanNode],
        inputs: Sequence[int],
        outputs: Sequence[int],
        alignment: int,
    ) -> None:
        self.count = len(nodes)
        self.trials = 0
        self._nodes = nodes
        self._alignment = alignment
        self._sizes = [self._up(tensor.size) if tensor.memory == planner.MEMORY_ARENA else 0 for tensor in tensors]
        self.always = sum(self._up(tensor.size) for tensor in tensors if tensor.memory == planner.MEMORY_VARIABLE)
        planned = [tensor.memory == planner.MEMORY_ARENA for tensor in tensors]
        root = list(range(len(tensors)))
        for node in nodes:
            first = node.inputs[0] if node.inputs else None
            if node.alias == ALIAS_VIEW and first is not None and node.outputs and planned[first]:
                root[node.outputs[0]] = root[first] if planned[node.outputs[0]] else node.outputs[0]
        self._root = root
        made = {tensor: index for index, node in enumerate(nodes) for tensor in node.outputs}
        self._reads = [0] * self.count
        self._writes = [0] * self.count
        self._users = [0] * len(tensors)
        self.needs = [0] * self.count
        for index, node in enumerate(nodes):
            for tensor in node.inputs:
                if tensor is None:
                    continue
                self.needs[index] |= 1 << made[tensor] if tensor in made else 0
                if planned[tensor]:
                    self._reads[index] |= 1 << root[tensor]
                    self._users[root[tensor]] |= 1 << index
            for tensor in node.outputs:
                if planned[tensor] and root[tensor] == tensor:
                    self._writes[index] |= 1 << tensor
        self._maker = {root[tensor]: made.get(root[tensor]) for tensor in range(len(tensors)) if planned[tensor]}
        self._kept = sum(1 << tensor for tensor in {root[tensor] for tensor in outputs if planned[tensor]})
        begun = {root[tensor] for tensor in inputs if planned[tensor]}
        self.start = sum(1 << block for block in begun if self._users[block] or self._kept >> block & 1)
        self._inside = self._containers(planned)
        self.has_pieces = any(self._inside)
        self.users = [0] * self.count
        for index, needed in enumerate(self.needs):
            for other in _bits(needed):
                self.users[other] |= 1 << index
        self._before: list[int] = []
        self._after = [0] * self.count
        for needed in self.needs:
            self._before.append(needed | _union(self._before, needed))
        for index in reversed(range(self.count)):
            self._after[index] = self.users[index] | _union(self._after, self.users[index])
        self.weigh = lru_cache(maxsize=200_000)(self._weigh)

    def _up(self, size: int) -> int:
        return -(-size // self._alignment) * self._alignment

    def _containers(self, planned: Sequence[bool]) -> list[int]:
        """For each block those in which it may lie."""
        inside = [0] * len(planned)
        for node in self._nodes:
            first = node.inputs[0] if node.inputs else None
            if node.held >= 0 and first is not None and planned[first] and planned[node.outputs[0]]:
                inside[self._root[node.outputs[0]]] |= 1 << self._root[first]
            if node.holds is not None and planned[node.outputs[0]] and all(start >= 0 for start in node.holds):
                for tensor in node.inputs:
                    if tensor is not None and planned[tensor]:
                        inside[self._root[tensor]] |= 1 << self._root[node.outputs[0]]
        grown = True
        while grown:
            wider = [mask | _union(inside, mask) for mask in inside]
            wider = [mask & ~(1 << index) for index, mask in enumerate(wider)]
            grown, inside = wider != inside, wider
        return inside

    def _weigh(self, live: int) -> int:
        """The bytes of some blocks."""
        return self.always + sum(self._sizes[block] for block in _bits(live) if not self._inside[block] & live)

    def _spared(self, node: int, dying: int) -> int:
        """Bytes that the first output of a node and the inputs that nothing else needs have in common at most."""
        item = self._nodes[node]
        if not item.outputs or self._root[item.outputs[0]] != item.outputs[0]:
            return 0
        out = item.outputs[0]
        size, spared, seen = self._sizes[out], 0, 0
        for position, tensor in enumerate(item.inputs):
            block = -1 if tensor is None else self._root[tensor]
            if block < 0 or not dying & ~seen & ~self._inside[out] & 1 << block or self._inside[block] >> out & 1:
                continue
            before, lead = self._sizes[block], item.leads[position] if item.leads else None
            if position == 0 and item.alias == ALIAS_IN_PLACE and before == size:
                saved = size
            elif lead is None or lead.kind == LEAD_NONE:
                continue
            else:
                saved = max(0, before + size - max(size, before + max(0, lead.bytes)))
            seen |= 1 << block
            spared += saved
        return min(spared, size)

    def run(self, node: int, done: int, live: int) -> tuple[int, int]:
        """The bytes that a node needs while it runs after the nodes ``done``, and the blocks that live then on."""
        self.trials += 1
        done |= 1 << node
        dying = 0
        for block in _bits((self._reads[node] | self._writes[node]) & ~self._kept):
            if not self._users[block] & ~done:
                dying |= 1 << block
        both = live | self._writes[node]
        need = self.weigh(both) + self._up(self._nodes[node].workspace) - self._spared(node, dying)
        return need, both & ~dying

    def steps(self, order: Sequence[int]) -> list[int]:
        """The bytes that each node of an order needs."""
        done, live, found = 0, self.start, []
        for node in order:
            need, live = self.run(node, done, live)
            done |= 1 << node
            found.append(need)
        return found

    def least(self, node: int) -> int:
        """The bytes that a node needs in every order: what it reads and writes, and what is made before and needed
        after it by nodes that have to be there."""
        before, after = self._before[node], self._after[node]
        live, forced = self._reads[node] | self._writes[node], 0
        for block, maker in self._maker.items():
            exists = self.start >> block & 1 or (maker is not None and before >> maker & 1)
            if exists and (self._users[block] & after or self._kept >> block & 1):
                forced |= 1 << block
        live |= forced
        for block in _bits(live):
            makers = (self._maker[container] for container in _bits(self._inside[block]))
            if any(maker is None or not after >> maker & 1 for maker in makers):
                live &= ~(1 << block)
        spared = self._spared(node, self._reads[node] & ~forced)
        return self.weigh(live) + self._up(self._nodes[node].workspace) - spared


def _union(masks: Sequence[int], chosen: int) -> int:
    found = 0
    for index in _bits(chosen):
        found |= masks[index]
    return found


def _depth_first(costs: _Costs) -> tuple[int, ...]:
    """Every node as late as the first that needs it allows, with all that it needs itself directly before it."""
    order: list[int] = []
    done = 0
    for last in range(costs.count):
        stack = [last] if not costs.users[last] else []
        while stack:
            missing = costs.needs[stack[-1]] & ~done
            if missing:
                stack.append(_bits(missing)[0])
                continue
            node = stack.pop()
            order.append(node)
            done |= 1 << node
    return tuple(order)


@dataclass(frozen=True)
class _State:
    """The best way to a set of nodes."""

    peak: int
    live: int
    ready: int
    before: int
    """The set that it comes from."""
    path: tuple[int, ...]
    """What was added to that."""


def _search(costs: _Costs, limit: int, most_trials: int, *, every_set: bool) -> tuple[tuple[int, ...] | None, bool]:
    """The best order that needs less than ``limit`` bytes, None if there is none or none was found; and whether all
    orders were considered: with ``every_set``, unless that takes too many trials; else, if none had to be left out."""
    every = (1 << costs.count) - 1
    ready = sum(1 << node for node in range(costs.count) if not costs.needs[node])
    levels: list[dict[int, _State]] = [{} for _ in range(costs.count + 1)]
    levels[0][0] = _State(0, costs.start, ready, 0, ())
    costs.trials, complete = 0, True
    for size, level in enumerate(levels[:-1]):
        pursued = list(level.items())
        if not every_set and pursued:
            widest = max(state.ready.bit_count() for _, state in pursued)
            width = max(1, (most_trials - costs.trials) // (widest * (costs.count - size)))
            complete = complete and len(pursued) <= width
            pursued.sort(key=lambda item: (costs.weigh(item[1].live), item[1].peak))
            del pursued[width:]
        for done, state in pursued:
            if costs.trials > (most_trials if every_set else _MOST_OVERRUN * most_trials):
                return None, False
            for node in _bits(state.ready):
                found = _advance(costs, done, state, node, limit)
                if found is None:
                    continue
                reached, after = found
                bucket = levels[reached.bit_count()]
                if reached not in bucket or after.peak < bucket[reached].peak:
                    bucket[reached] = after
    if every not in levels[-1]:
        return None, complete
    order: list[int] = []
    done = every
    while done:
        state = levels[done.bit_count()][done]
        order[:0] = state.path
        done = state.before
    return tuple(order), complete


def _advance(costs: _Costs, done: int, state: _State, node: int, limit: int) -> tuple[int, _State] | None:
    """The set that one node more leads to, with all that then runs at once; None when it needs too much."""
    peak, live, ready, path, reached = state.peak, state.live, state.ready, [], done
    following: int | None = node
    while following is not None:
        need, live = costs.run(following, reached, live)
        if need >= limit:
            return None
        peak = max(peak, need)
        path.append(following)
        reached |= 1 << following
        ready &= ~(1 << following)
        for user in _bits(costs.users[following]):
            if not costs.needs[user] & ~reached:
                ready |= 1 << user
        following = None
        for other in _bits(ready) if not costs.has_pieces else ():
            need, after = costs.run(other, reached, live)
            if need <= peak and costs.weigh(after) <= costs.weigh(live):
                following = other
                break
    return reached, _State(peak, live, ready, done, tuple(path))
