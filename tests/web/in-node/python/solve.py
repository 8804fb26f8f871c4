"""Runs solutions of exercises in Python on the trials of their graders, and prints where a result is another.

Against the stand-in torch.py beside it, or PyTorch with --torch. Standard input: JSON, a list of {"name", "code",
"trials"}, each trial {"label", "args", "result"}; a value is null, a number, a string, a list, {"float": "Infinity"},
{"tensor", "shape", "dtype"} or {"dtype"}. Standard output: JSON, {"trials", "problems"}.
"""

import json
import math
import sys

if "--torch" in sys.argv:
    sys.path.pop(0)
import torch


def decoded(value):
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    dtype = getattr(torch, value["dtype"].removeprefix("torch."))
    if "tensor" not in value:
        return dtype
    return torch.tensor(value["tensor"], dtype=dtype).reshape(*value["shape"])


def is_same(found, wanted):
    if isinstance(wanted, torch.Tensor):
        return (
            isinstance(found, torch.Tensor)
            and (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            and is_same(found.reshape(-1).tolist(), wanted.reshape(-1).tolist())
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, (list, tuple)) and len(found) == len(wanted) and all(map(is_same, found, wanted))
        )
    if wanted is None or found is None:
        return found is wanted
    # As the grader: sums may be rounded in another order.
    return math.isclose(found, wanted, rel_tol=1e-6)


def main():
    count, problems = 0, []
    for exercise in json.load(sys.stdin):
        names = {"torch": torch}
        exec(exercise["code"], names)
        for trial in exercise["trials"]:
            wanted = decoded(trial["result"])
            found = names[exercise["name"]](*decoded(trial["args"]))
            count += 1
            if not is_same(found, wanted):
                problems.append(f"{exercise['name']}, {trial['label']}: {found!r}, expected {wanted!r}")
    print(json.dumps({"trials": count, "problems": problems}))


main()
