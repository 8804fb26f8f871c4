"""Runs cells in Python against the stand-in torch.py beside it, or PyTorch with --torch, and prints what is wrong.

PyTorch must print each expected output to the last digit; the stand-in, numbers near it.

Standard input: JSON, a list of notebooks; each a list of {"id", "code", "expected" or null, "kind"}, kind "cell",
"skeleton" or "exercise". Names of earlier notebooks stay, as the page says. Standard output: JSON, {"ran", "compared",
"problems"}.
"""

import ast
import builtins
import contextlib
import copy
import io
import json
import math
import re
import sys

if "--torch" in sys.argv:
    sys.path.pop(0)
import torch

try:
    from matplotlib import pyplot
except ImportError:  # with --torch
    pyplot = None

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
KNOWN = {name for each in (list, dict, str, math, torch, torch.Tensor, pyplot) for name in dir(each)}
NORMAL = torch.distributions.normal
NAMESPACES = [torch.nn.functional, NORMAL, NORMAL.Normal, torch.quantization.qconfig, torch.iinfo(torch.int8)]
OBSERVER = torch.ao.quantization.MovingAverageMinMaxObserver
KNOWN |= {name for each in [*NAMESPACES, OBSERVER, torch.nn, torch.distributions, torch.quantization] for name in dir(each)}
KNOWN |= {"__name__", "dtype", "shape"} | set(dir(getattr(pyplot, "Axes", None)))


def numbers(text):
    """The numbers of a printed value, without the size, dtype and scale of a quantized tensor."""
    return [float(each) for each in NUMBER.findall(text.split("size=(")[0])]


def run(code, names):
    """What a cell prints, its last expression included."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                print(value)
    return printed.getvalue()


def problems_of_names(code, names, allowed):
    """Names and attributes that nothing has, also in functions that are not called; numbers that are called."""
    tree = ast.parse(code)
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr not in KNOWN:
            yield f"nothing has .{node.attr}"
        if isinstance(node, ast.Name) and node.id not in bound | defined | allowed | set(names) | set(dir(builtins)):
            yield f"{node.id} is not defined"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in bound:
            yield f"{node.func.id} is a variable and is called"


def main():
    counts, problems, names = {"ran": 0, "compared": 0}, [], {"plot_quantization_errors": lambda *tensors: None}
    for cells in json.load(sys.stdin):
        functions = []
        for cell in cells:
            code, expected, kind = cell["code"], cell["expected"], cell["kind"]
            # An exercise defines names of its own; its blanks are ___.
            scope = copy.copy(names) if kind == "exercise" else names
            allowed = {"___"} if kind == "exercise" else set()
            if kind == "skeleton":
                allowed = {"quantized_tensor", "scale"}
            try:
                printed = run(code, scope)
                counts["ran"] += 1
                functions.append((cell["id"], code, scope, allowed))
            except Exception as error:
                problems.append(f"{cell['id']}: {type(error).__name__}: {error}")
                continue
            if expected is None or "Observer" in expected and "--torch" not in sys.argv:
                continue
            counts["compared"] += 1
            if "--torch" in sys.argv:
                # Jupyter breaks a long tuple after each entry.
                if printed.split() != expected.split():
                    problems.append(f"{cell['id']}: printed {printed!r}, expected {expected!r}")
                continue
            found, wanted = numbers(printed), numbers(expected)
            near = len(found) == len(wanted) and all(
                math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4) for a, b in zip(found, wanted)
            )
            if not near:
                problems.append(f"{cell['id']}: printed {printed!r}, expected {expected!r}")
        # A function may call one of a later cell.
        for title, code, scope, allowed in functions:
            found = problems_of_names(code, names, set(scope) | allowed)
            problems += [f"{title}: {each}" for each in found]
    print(json.dumps({**counts, "problems": problems}))


main()
