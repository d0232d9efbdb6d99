import ast

from jupyter_kerneldoctor.recording.events import NamedObject

from ...edits import Changes, EditRefusedError, indent_unit, insert_after
from ...examples import MIB
from ...fix import OUT_OF_MEMORY, Case, Death, Fix, Proposal, Proposals, quote, size
from ...frameworks.rollouts import Rollout, calls_of_learner, clearing_method, rollout_of

_MEMORY = "import torch\nclass Memory:\n    def __init__(self):\n        self.states, self.rewards = [], []\n"
_CLEAR = "    def clear(self):\n        del self.states[:]\n        del self.rewards[:]\n"
_LEARN = (
    "def learn(memory):\n    loss = f(torch.stack(memory.states), torch.tensor(memory.rewards))\n    loss.backward()"
)
_RUN = (
    "memory = Memory()\nfor step in range(10**6):\n    state, reward = act()\n    memory.states.append(state)\n"
    "    memory.rewards.append(reward)\n    if step % 500 == 499:\n        learn(memory)"
)
_AGENT = (
    "import random, torch\nclass Agent:\n    def __init__(self):\n        self.memory = []\n"
    "    def keep(self, *step):\n        self.memory.append(step)\n    def learn(self):\n"
    "        batch = random.sample(self.memory, 32)\n        loss_of(batch).backward()"
)


def _held(name: str) -> NamedObject:
    return NamedObject(name, "list", 1600 * MIB, items=9000, grew_bytes=1500 * MIB, items_before=0)


class ClearAfterUpdate(Fix):
    """Empty the agent's memory when it has learned from it.

    What it does: An agent that learns from what it just did, as PPO, A2C and REINFORCE do, needs each step once. Lists
    that nobody empties keep the states of all episodes. The edit empties them behind the update, by the object's own
    method where it has one. An agent that draws steps at random needs the newest some thousand: `deque(maxlen=...)`.

    When it is offered: Memory ran out while a list grew that an object has, a function that trains reads it, and
    nothing that ran takes anything out of it.

    What it costs: Each update learns from the steps since the last one only, where it learned from all before.
    """

    id, title, causes = "clear-after-update", "Empty the memory after each update", OUT_OF_MEMORY
    edits_cure = True  # the statement stands behind the update

    FIRES = [
        Case(
            _MEMORY + _CLEAR + _LEARN,
            _RUN,
            grew=_held("memory.states"),
            becomes=_RUN + "\n        memory.clear()",
            says=("`memory.states`",),
        ),
        Case(
            _MEMORY + _LEARN,
            _RUN,
            grew=_held("memory.states"),
            becomes=_RUN + "\n        for kept in (memory.states, memory.rewards):\n            kept.clear()",
        ),
        Case(  # also the last 99 only: how many it needs is not known
            _MEMORY + _LEARN.replace("memory.states)", "memory.states[-99:])"),
            _RUN,
            grew=_held("memory.states"),
            says=("memory.states.clear()",),
        ),
        Case(  # it waits until there are enough steps
            _MEMORY + _CLEAR + _LEARN.replace("    loss =", "    if len(memory.states) < 500: return\n    loss ="),
            _RUN,
            grew=_held("memory.states"),
            says=("memory.states.clear()",),
        ),
        Case(  # they are looked at in the end
            _MEMORY + _CLEAR + _LEARN,
            _RUN + "\nplot(memory.rewards)",
            line=7,
            grew=_held("memory.states"),
            says=("memory.states.clear()",),
        ),
        Case(
            _AGENT,
            "agent = Agent()\nfor x in env:\n    agent.keep(x)\n    agent.learn()",
            grew=_held("self.memory"),
            says=("self.memory = deque(maxlen=6000)", "forgets the oldest"),
        ),
    ]
    SILENT = [
        Case(_MEMORY + _LEARN + "\n    memory.states.clear()", _RUN, grew=_held("memory.states")),
        Case(_MEMORY + _LEARN + "\n    memory.states = []", _RUN, grew=_held("memory.states")),
        Case(_MEMORY + _CLEAR + _LEARN, _RUN + "\n        memory.clear()", grew=_held("memory.states")),
        Case(_MEMORY + _LEARN.replace("loss.backward()", "return loss"), _RUN, grew=_held("memory.states")),
        Case(_MEMORY + _LEARN, _RUN),
        Case(  # data, gone through in each epoch
            _MEMORY + _LEARN,
            "data = Memory()\nfor path in paths:\n    data.states.append(read(path))\nfor epoch in range(9):\n"
            "    learn(data)",
            line=3,
            grew=_held("data.states"),
        ),
    ]

    def propose(self, death: Death) -> Proposals:
        one = death.growth.container
        found = None if one is None or not death.memory.grew_here else rollout_of(one.name, death.code)
        if one is None or found is None:
            return
        name, learner = found.lists[0], quote(found.learner.name)
        grew = one.grew_bytes or one.bytes or death.memory.ramp_bytes
        explains = max(grew, death.memory.ramp_bytes)
        why = f"{quote(one.name)} grew by {size(grew)}: {learner} reads it, and nothing ever takes anything out. "
        if found.draws:
            gained = max(1, death.growth.items_gained(one))
            fit = (death.safe_headroom_bytes or 0) * 7 // 10 * gained // max(1, grew)
            digit = 10 ** max(0, len(str(fit)) - 1)
            title = "Let the memory forget the oldest steps: deque(maxlen=...)"
            snippet = f"from collections import deque\n\n{one.name} = deque(maxlen={max(1, fit // digit * digit)})"
            why += "It draws some of the steps: a deque with a length forgets the oldest when a new one comes."
            snippet += "  # forgets the oldest; a screen as uint8 takes an eighth of one divided by 255"
            yield Proposal((), why, explains, title, snippet)
            return
        why += f"Empty it when {learner} is through: the next update then learns from what came since."
        snippet = "\n".join(f"{one}.clear()  # behind the update" for one in found.lists or (name,))
        try:
            yield Proposal(_cleared(found, death), why, explains, snippet=snippet)
        except EditRefusedError:
            yield Proposal((), why, explains, snippet=snippet)


def _cleared(found: Rollout, death: Death) -> Changes:
    """Return the edit that empties the lists. Raises EditRefusedError where they may be needed, or it has no place."""
    method, calls = clearing_method(found, death.code), list(calls_of_learner(found, death.code))
    if len(calls) != 1 or found.is_read_outside or (method is None and not found.is_alone):
        raise EditRefusedError("the lists may be needed")
    last = getattr(found.learner.node, "body", [None])[-1]
    if any(isinstance(one, ast.Return) and one is not last for one in found.learner.nodes):
        raise EditRefusedError("it may return before it has learned")
    call, caller, owner = calls[0]
    if (statement := caller.statement_of(call)) is None or not caller.loops_around(call):
        raise EditRefusedError("no loop calls it")
    if owner == "self" and not caller.owner:
        owner = caller.segment(getattr(call.func, "value", call.func))  # agent.learn()
    if method is not None:
        return insert_after(caller, statement, f"{owner}.{method}()")
    if "kept" in caller.bindings:
        raise EditRefusedError("`kept` is another variable")
    lists = ", ".join(f"{owner}.{one.rpartition('.')[2]}" for one in found.lists)
    lists += "," if len(found.lists) == 1 else ""
    unit = indent_unit(caller, statement)
    return insert_after(caller, statement, f"for kept in ({lists}):", f"{unit}kept.clear()")
