"""Makes children of formulas, one line of JSON in, one line of JSON out.

It stands for a language model: it reads what a model would be told and answers what one would
answer. It has one idea, that small whole numbers make good coefficients, and it does not repeat
what it was told has failed.
"""

import json
import random
import sys


def child(question):
    chance = random.Random(question["seed"])
    known = question["failures"] + question["parents"] + [question.get("best")]
    known = {told["formula"] for told in known if told}
    for _ in range(20):
        a, b, c = chance.randint(0, 2), chance.randint(-2, 2), chance.randint(-2, 2)
        formula = f"{a}*x*x + {b}*x + {c}"
        if formula not in known:
            return {"formula": formula}
    return {"error": "no idea"}


for line in sys.stdin:
    print(json.dumps(child(json.loads(line))), flush=True)
