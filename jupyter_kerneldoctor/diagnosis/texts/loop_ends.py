"""What ends a loop that does not end: titles and snippets, by the kind of `EndlessLoop`.

Words in capitals stand for the user's own names.
"""

TITLES = {
    "unchanged": "Change in each round what the loop asks",
    "uncounted": "Change in each round what the loop asks",
    "same": "Change in each round what the loop's end depends on, or leave it: each round is the same",
    "skipped": "Take the step before continue, too",
    "halved": "Leave out the value that was tried: a bisection has to get shorter",
    "narrowed": "Stop where the bounds are close: between two fractions there is not always another one",
    "missed": "Ask with < or > in place of !=: steps may pass a number and never be equal to it",
    "reset": "Count on with +=",
    "polled": "Give the loop that waits an end of its own",
    "read": "Leave the loop at the end of the data: an empty answer means that no more comes",
    "page": "Ask for the next page in each round",
    "items": "Say how many you take: islice, takewhile, or a break",
    "lost": "Keep what is worked out in each round: give it a name",
    "bits": "Take no negative number, or cut it off at 32 bits: Python's integers have no last bit",
    "turns": "Limit the rounds, and look at the values: they come back",
    "drifts": "Check that a round brings the value nearer to its bound, and stop where it does not",
    "away": "Count in the other direction: each round leads away from the bound",
    "retried": "Give up after some attempts, and leave out what fails",
    "mistyped": "Ask for the end of the data in the type that is read",
    "full": "Draw without repeats: sample() raises an error where there are too few values",
    "taken": "Choose among those that are free: with none left that is an error",
    "newton": "Limit the steps of Newton's method",
    "settles": "Limit the rounds, and ask for nearly the same",
    "circle": "Look for the object that comes twice: what follows it leads back",
    "found": "Go on behind what was found",
    "kept": "Set the flag to what ends the loop",
    "swapped": "Leave equal items where they are: > in place of >=",
    "stalled": "Take the step in each round, not only in the if",
    "near": "Limit the rounds, and look whether the distance still gets smaller",
    "errors": "Limit the passes: there may be none without an error",
    "file": "Delete the lock file that was left behind, and remove it in finally",
}
_DEADLINE = (
    "deadline = time.monotonic() + 60\n{head}:\n    if time.monotonic() > deadline:\n"
    "        raise TimeoutError('nobody has changed it')\n    time.sleep(0.2)"
)
ATTEMPTS = (
    "for attempt in range(3):\n    try:\n        ...\n        break\n    except Exception as error:\n"
    "        print(attempt, repr(error))\nelse:\n    raise RuntimeError('it failed three times')  # or go on without it"
)
_NEXT = "{head}:\n    ...\n    # at the end of each round, what brings the condition to an end: i += 1"
SNIPPETS = {
    "full": "import random\nprint(HIGH - LOW + 1, 'values,', MANY, 'wanted')\n"
    "found = random.sample(range(LOW, HIGH + 1), MANY)  # different ones, in place of the loop",
    "taken": "free = [one for one in range(n) if not taken[one]]  # all that may be drawn, and are good\n"
    "if not free:\n    raise ValueError('none is left')\nchoice = random.choice(free)",
    "newton": "# in place of `{head}`:\nfor step in range(100):\n    ...  # one step, as before\n"
    "    if not math.isfinite(x) or abs(f(x)) < 1e-10:\n        break\n"
    "else:\n    raise ArithmeticError('no root from here')  # another start, or scipy.optimize.brentq(f, a, b)",
    "circle": "visited = set()\n{head}:\n    if id({node}) in visited:\n"
    "        raise ValueError('a circle')  # put a copy in, where the same is to come twice\n"
    "    visited.add(id({node}))\n    ...  # as before",
    "drifts": "{head}:\n    before = NAME\n    ...  # a round, as before\n    if not NAME CLOSER before:\n"
    "        raise ValueError(f'no end: {before=}, then {NAME=}')  # here the values are to blame, not the loop",
    "skipped": "NAME += 1  # before `continue`: how far to go on there\ncontinue",
    "away": "{head}:\n    ...\n    NAME STEP 1  # in the direction of BOUND",
    "polled": _DEADLINE,
    "unchanged": _NEXT,
    "uncounted": _NEXT,
    "same": "{head}:\n    ...\n    NAME += 1  # in each round: the next value, the next page\n"
    "    # or leave it: break, or return with what was found",
    "items": "from itertools import islice, takewhile\n"
    "few = list(islice(items, 100))  # so many of them\n"
    "small = list(takewhile(lambda x: x < 1000, items))  # up to the first that is not: `if x < 1000` never ends\n"
    "for x in items:\n    if x >= 1000:\n        break",
    "bits": "MASK = 0xFFFFFFFF  # 32 bits, as an int of C\nNAME &= MASK  # before the loop: a negative one, too\n"
    "{head}:\n    ...\n    NAME &= MASK  # in each round, and every other number that it is made of\n"
    "# a result above MASK >> 1 is negative: result = ~(result ^ MASK)\n\n"
    "if NAME < 0:  # or refuse it, or take abs(NAME) and the sign by itself\n    raise ValueError(NAME)",
    "turns": "visited = set()\n{head}:\n    if NAMES in visited:\n"
    "        raise ValueError(f'no end: {NAMES} comes back')  # look at the step that leads there\n"
    "    visited.add(NAMES)\n    ...  # as before",
    "found": "{head}:\n    ...\n    NAME += 1  # at the end of each round: what is looked for begins behind it",
    "kept": "NAME = FIRST\n{head}:\n    NAME = LAST  # first in each round; FIRST again if there is more\n    ...",
    "stalled": "{head}:\n    if ASKED:\n        ...  # as before\n"
    "    NAME += 1  # outside the if: the step that is to be taken in each round",
    "near": "for round in range(10_000):  # in place of `{head}`\n    ...  # a round, as before\n"
    "    if round % 1000 == 0:\n        print(round, DISTANCE)  # to and fro: a shorter step; still: a larger bound\n"
    "    if DISTANCE < NEAR:\n        break\nelse:\n    print('no end after all rounds:', DISTANCE)",
    "errors": "for epoch in range(1000):  # in place of `{head}`\n    ...  # a pass, as before\n"
    "    if NAME == 0:\n        break\nelse:\n    print(NAME, 'are left')  # keep the best: perhaps nothing fits all",
    "settles": "# in place of `{head}`:\nfor round in range(300):\n    ...  # a round, as before\n"
    "    if np.allclose(old, new, equal_nan=True):\n        break\n"
    "else:\n    print('it has not settled:', np.isnan(new).sum(), 'NaN')  # a mean of nothing is NaN",
}
REMOVED = (
    "os.remove({path})  # once, if no other notebook is at the same work\n\n"
    "# and from now on also after an error:\nlock.acquire()\ntry:\n    ...  # the work\nfinally:\n    lock.release()"
)
