"""A search that notes which nodes it has seen finds what it found before."""

import random
from collections import deque

import pytest

from jupyter_kerneldoctor.diagnosis.case import Case
from jupyter_kerneldoctor.diagnosis.fixes.python.note_what_was_seen import NoteWhatWasSeen
from jupyter_kerneldoctor.diagnosis.proposals import ask

_HELD = NoteWhatWasSeen.FIRES[0]._recorded["held"]
_HEAD = "def way(graph, start, goal):\n"
_FIRST_WAY = {
    "node and path": """
    queue = deque([(start, [start])])
    while queue:
        node, path = queue.popleft()
        if node == goal:
            return path
        for other in graph[node]:
            queue.append((other, path + [other]))
""",
    "path alone": """
    queue = [[start]]
    while queue:
        path = queue.pop(0)
        node = path[-1]
        if node == goal:
            return path
        for other in graph.get(node, []):
            queue.append(path + [other])
""",
    "number of steps": """
    queue = deque([(start, 0)])
    while queue:
        node, steps = queue.popleft()
        if node == goal:
            return steps
        for other in graph[node]:
            if other != start:
                queue.append((other, steps + 1))
""",
    "no circles": """
    queue = deque([(start, [start])])
    while queue:
        node, path = queue.popleft()
        if node == goal:
            return path
        for other in graph[node]:
            if other not in path:
                queue.append((other, path + [other]))
""",
}
_MORE_THAN_THAT = {
    "all ways": "        if node == goal:\n            found.append(path)\n            continue\n",
    "a number of nodes": "        count = count + 1\n        if node == goal:\n            return count\n",
    "so much fuel": "        if len(path) > 4: continue\n        if node == goal:\n            return path\n",
}


def _proposed(body):
    source = "from collections import deque\n" + _HEAD + body.lstrip("\n")
    found, _ = ask(NoteWhatWasSeen(), Case(source, "way(g, 1, 2)", held=_HELD).death())
    return source, found


def _graphs(count):
    for seed in range(count):
        draw = random.Random(seed)
        graph = {one: [other for other in range(6) if other != one and draw.random() < 0.4] for one in range(6)}
        reached, waiting, goal = {0}, deque([0]), draw.randrange(6)
        while waiting:
            new = set(graph[waiting.pop()]) - reached
            reached |= new
            waiting.extend(new)
        if goal in reached:  # without the set, a search for another may never end
            yield graph, goal


@pytest.mark.parametrize("body", _FIRST_WAY.values(), ids=list(_FIRST_WAY))
def test_the_first_way_stays_the_same(body):
    source, found = _proposed(body)
    (edit,) = found.edits
    before, after = {}, {}
    exec(source, before)
    exec(edit.new_source, after)
    compared = [(before["way"](graph, 0, goal), after["way"](graph, 0, goal)) for graph, goal in _graphs(300)]
    assert len(compared) > 100
    assert all(one == other for one, other in compared)


@pytest.mark.parametrize("asked", _MORE_THAN_THAT.values(), ids=list(_MORE_THAN_THAT))
def test_nothing_is_edited_where_more_is_asked_than_the_first_way(asked):
    body = _FIRST_WAY["node and path"].replace("        if node == goal:\n            return path\n", asked)
    _, found = _proposed(body)
    assert not found.edits
    assert "if node in seen:" in found.snippet
