#!/usr/bin/env python3
"""Makes printing.json, python.json, random.json and tensor_ops.json from a real PyTorch 1.13.

    python3 make_printing.py                   # writes the four files beside this script
    python3 make_printing.py --fuzz N SEED     # prints N random tensors with their text

Needs torch 1.13 and IPython 8 (Debian 12: python3-torch, ipython3) on x86-64. Everything that is
compared here is the same in PyTorch 2.6; what is not (HistogramObserver) does not occur.
Encodings: see README.md.
"""
import base64
import io
import itertools
import json
import math
import os
import struct
import sys
import warnings

os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
warnings.simplefilter("ignore")
import numpy as np
import torch
from IPython.lib.pretty import pretty

torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
NAN, INF = float("nan"), float("inf")
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"]
INTS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float32", "float64"]


def dtype(name):
    return getattr(torch, name)


# ---------------------------------------------------------------- encodings


def encode(t):
    """A tensor, in row-major order."""
    name = str(t.dtype).split(".")[1]
    values = t.detach().contiguous().numpy()
    out = {"t": {"float32": "f32", "float64": "f64"}.get(name, name), "shape": list(t.shape)}
    if name in FLOATS:
        values = np.array(values, order="C")
        values[np.isnan(values)] = NAN
        out["b64"] = base64.b64encode(values.tobytes()).decode()
    else:
        out["data"] = [int(v) if abs(int(v)) <= 2**53 else str(int(v)) for v in values.ravel()]
    return out


def dump(value):
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def write(name, about, cases, values=None):
    with open(os.path.join(HERE, name + ".json"), "w") as f:
        meta = {"torch": torch.__version__, "numpy": np.__version__}
        f.write('{"meta":%s,"about":%s,' % (json.dumps(meta), json.dumps(about)))
        if values is not None:
            f.write('"values":[\n' + ",\n".join(map(dump, values)) + "\n],")
        f.write('"cases":[\n' + ",\n".join(map(dump, cases)) + "\n]}\n")
    print("%-12s %5d cases" % (name, len(cases)))


def share_values(cases):
    """The cases with an index for each operand and result that is no text, and the list of these values."""
    places = {}

    def place(value):
        if isinstance(value, str):
            return value
        return places.setdefault(dump(value), len(places))

    shared = []
    for case in cases:
        out = {"out": place(case["out"])} if "out" in case else {}
        shared.append({**case, "in": [place(value) for value in case["in"]], **out})
    return shared, [json.loads(text) for text in places]


# ---------------------------------------------------------------- printing


def random_values(rng, shape, name):
    """Values of one dtype that reach all branches of the printer."""
    n = int(np.prod(shape))
    if name == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if name in INTS:
        info = torch.iinfo(dtype(name))
        reach = int(rng.integers(0, 3))
        if reach == 0:
            lo, hi = max(info.min, -9), 9
        elif reach == 1:
            lo, hi = max(info.min, -1000), min(info.max, 1000)
        else:
            lo, hi = info.min, info.max
        return rng.integers(lo, hi, n, dtype=np.int64, endpoint=True).astype(name)
    kind = int(rng.integers(0, 9))
    x = rng.standard_normal(n)
    if kind == 1:
        x = x * 10.0 ** rng.integers(-8, 9)
    elif kind == 2:
        x = x * 10.0 ** rng.uniform(-3, 3, n)
    elif kind == 3:
        x = rng.integers(-2000, 2000, n).astype(np.float64)
    elif kind == 4:
        x = np.rint(x * 10.0 ** rng.integers(0, 12))
    elif kind == 5:
        x = rng.integers(-320, 320, n) / 32.0  # exact ties in the fifth decimal
    elif kind == 6:
        x = rng.integers(0, 2**63, n, dtype=np.int64).view(np.float64)
        if name == "float32":
            x = rng.integers(0, 2**32, n, dtype=np.uint64).astype(np.uint32).view(np.float32)
    elif kind == 7:
        x = np.where(rng.random(n) < 0.5, 0.0, x)
    x = np.array(x, dtype=name)
    if n and rng.random() < 0.4:
        for value in (NAN, INF, -INF, 0.0, -0.0, 1e-4, 1e8, -1000.0):
            if rng.random() < 0.3:
                x[rng.integers(0, n)] = value
    return x


def random_shape(rng):
    kind = int(rng.integers(0, 6))
    if kind == 0:
        return (int(rng.integers(0, 40)),)
    if kind == 1:
        return tuple(int(v) for v in rng.integers(0, 4, rng.integers(0, 5)))
    if kind == 2:
        return (int(rng.integers(1, 5)), int(rng.integers(1, 40)))
    if kind == 3:
        return tuple(int(v) for v in rng.integers(1, 4, rng.integers(2, 5)))
    if kind == 4:
        return (int(rng.integers(1, 9)), int(rng.integers(1, 9)))
    return tuple(int(v) for v in rng.integers(1, 3, rng.integers(0, 6)))


def big_shape(rng):
    """More than 1000 elements, so that the text is a summary."""
    shape = [
        (1001,),
        (5000,),
        (20, 60),
        (7, 200),
        (200, 6),
        (1100, 1),
        (1, 1100),
        (2, 3, 300),
        (12, 9, 10),
        (6, 7, 30),
        (8, 2, 2, 40),
        (3, 4, 5, 6, 7),
        (2, 2, 2, 2, 100),
    ]
    return shape[int(rng.integers(0, len(shape)))]


def random_tensor(rng, big=False):
    name = DTYPES[int(rng.integers(0, len(DTYPES)))] if rng.random() < 0.5 else "float32"
    shape = big_shape(rng) if big else random_shape(rng)
    return torch.from_numpy(random_values(rng, shape, name).reshape(shape))


def printing_cases():
    rng = np.random.default_rng(7)
    cases = []

    def add(t, note=None, given=None):
        case = {"id": "printing/%04d" % len(cases), "tensor": given or encode(t), "text": str(t)}
        if note:
            case["note"] = note
        cases.append(case)

    f = torch.tensor
    add(
        f([[191.6, -13.5, 728.6], [92.14, 295.5, -184], [0, 684.6, 245.5]]), "the notebooks' tensor"
    )
    for name in DTYPES:
        add(torch.zeros(0, dtype=dtype(name)), "empty")
        add(torch.zeros(0, 3, dtype=dtype(name)), "empty")
        add(torch.zeros(2, 0, 3, dtype=dtype(name)), "empty")
        add(torch.zeros((), dtype=dtype(name)), "0-d")
        add(torch.ones((), dtype=dtype(name)), "0-d")
        add(torch.ones(1, dtype=dtype(name)))
        add(torch.ones(3, 1, 2, dtype=dtype(name)))
    for name in FLOATS:
        for values, note in (
            ([0.0, -0.0], "signed zeros"),
            ([-0.0], "negative zero"),
            ([NAN], "NaN alone"),
            ([NAN, INF, -INF], "no finite value"),
            ([0.0, NAN, -INF], "no finite value but 0"),
            ([1.0, NAN, INF], "whole with NaN"),
            ([1.5, NAN, -INF], "NaN and infinity stick out"),
            ([1e-4, 1.0], "1e-4 is not small"),
            ([9.9e-5, 0.05], "below 1e-4: scientific"),
            ([1e8, 3e7], "1e8 is not large"),
            ([1.01e8, 3e7], "above 1e8: scientific"),
            ([1.0, 1000.0], "ratio of exactly 1000"),
            ([1.0, 1001.0], "whole, ratio above 1000"),
            ([0.5, 500.0], "ratio of exactly 1000"),
            ([0.5, 501.0], "ratio above 1000"),
            ([0.03125, 0.09375, 0.15625], "ties in the fifth decimal"),
            ([0.5, 2.5, -0.03125], "ties"),
            ([5e-324, 1.0], "subnormal"),
            ([1e-45, 1e-40], "subnormal"),
            ([3.4e38, 1.0], "largest"),
            ([99999.5, 1e9], "rounds up to the next exponent"),
            ([999950000.0, 1e9], "tie in scientific notation"),
            ([1.00005e9, 1e10], "scientific"),
            ([9.9999e-10, 9.99995e-10], "rounds up to the next exponent"),
            ([1e100, 1e-100], "three digits"),
            ([123456789.0], "large whole"),
            ([16777216.0, 33554432.0], "whole"),
            ([0.99995], "rounds to 1"),
            ([9.99995, 1.0], "one column wider when rounded"),
            ([-9.99996, 1.0], "negative, wider"),
            ([1e-5], "small alone"),
            ([1e5], "whole"),
            ([100000.5], "wide"),
            ([1e22, 1e23], "beyond 1e21"),
        ):
            t = torch.tensor(values, dtype=dtype(name))
            add(t, note)
            add(t[0], note)
    for n in (1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 35, 60):
        add(torch.arange(n), "lines of 80 columns")
        add(torch.arange(n) / 7, "lines of 80 columns")
        add(torch.arange(n, dtype=torch.int8), "the dtype may need a line of its own")
        add(torch.arange(n, dtype=torch.float64) * 1e5, "lines of 80 columns")
        add(torch.arange(n) % 2 == 0, "lines of 80 columns")
    add(torch.tensor([-(2**63), 2**63 - 1]), "the ends of int64")
    for shape in ((1,) * 5, (2, 2, 2), (2, 1, 3, 2), (1, 2, 1, 2, 1)):
        add(torch.arange(int(np.prod(shape))).reshape(shape), "blank lines between matrices")
        add(torch.arange(int(np.prod(shape))).reshape(shape) / 3, "blank lines between matrices")
    for _ in range(330):
        add(random_tensor(rng))
    # Large tensors: only a recipe for their values is stored.
    for _ in range(70):
        shape, name = big_shape(rng), DTYPES[int(rng.integers(1, len(DTYPES)))]
        seed = int(rng.integers(1, 2**31))
        span = [(-1.0, 1.0), (0.0, 1e-3), (-300.0, 300.0), (0.0, 1e6), (0.0, 120.0)][
            int(rng.integers(0, 5))
        ]
        recipe = {
            "gen": "lcg",
            "n": int(np.prod(shape)),
            "seed": seed,
            "lo": span[0],
            "hi": span[1],
            "shape": list(shape),
            "t": {"float32": "f32", "float64": "f64"}.get(name, name),
        }
        add(
            torch.from_numpy(lcg(recipe["n"], seed, *span)).to(dtype(name)).reshape(shape),
            "summary",
            recipe,
        )
    for n in (999, 1000, 1001):
        recipe = {"gen": "lcg", "n": n, "seed": n, "lo": 0.0, "hi": 1.0, "shape": [n], "t": "f32"}
        add(torch.from_numpy(lcg(n, n, 0.0, 1.0)), "summaries begin at 1001 elements", recipe)
    return cases


def lcg(n, seed, lo, hi):
    """s = s*1664525 + 1013904223 (mod 2^32), value = float32(lo + (hi-lo) * s / 2^32)."""
    out = np.empty(n, np.float64)
    s = seed
    for i in range(n):
        s = (s * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = lo + (hi - lo) * (s / 4294967296.0)
    return out.astype(np.float32)


# ---------------------------------------------------------------- Python's and IPython's text


def tag(v):
    """A Python value as JSON: {"kind": content}."""
    if v is None:
        return {"none": 1}
    if isinstance(v, bool):
        return {"bool": v}
    if isinstance(v, int):
        return {"int": str(v)}
    if isinstance(v, float):
        return {"float": struct.pack(">d", v).hex()}
    if isinstance(v, str):
        return {"str": v}
    if isinstance(v, torch.Size):
        return {"size": list(v)}
    if isinstance(v, torch.Tensor):
        return {"tensor": encode(v)}
    if isinstance(v, dict):
        return {"dict": [[tag(k), tag(x)] for k, x in v.items()]}
    return {"tuple" if isinstance(v, tuple) else "list": [tag(x) for x in v]}


def random_value(rng, depth=0):
    kind = int(rng.integers(0, 12))
    if depth < 3 and kind < 4:
        items = [random_value(rng, depth + 1) for _ in range(int(rng.integers(0, 7)))]
        if kind < 2:
            return tuple(items)
        if kind == 2:
            return items
        return {chr(97 + i) * int(rng.integers(1, 12)): x for i, x in enumerate(items)}
    if kind == 4:
        return torch.arange(int(rng.integers(1, 7))).reshape(-1, 1)
    if kind == 5:
        return torch.rand(int(rng.integers(0, 4)))
    if kind == 6:
        return "x" * int(rng.integers(0, 30))
    if kind == 7:
        return int(rng.integers(-(10**6), 10**6))
    if kind == 8:
        return torch.Size([3, 1])
    if kind == 9:
        return [None, True, False][int(rng.integers(0, 3))]
    return float(rng.standard_normal() * 10.0 ** [-20, -4, 0, 3, 24][int(rng.integers(0, 5))])


def python_cases():
    rng = np.random.default_rng(11)
    torch.manual_seed(11)
    values = [
        1.5442274161614478e-05,
        1e16,
        1e15,
        9999999999999998.0,
        123456789012345680.0,
        1e-4,
        1e-5,
        0.00012345,
        NAN,
        INF,
        -INF,
        -0.0,
        0.1,
        5.737007681779035,
        2.5091912746429443,
        1e22,
        1e21,
        1e23,
        5e-324,
        1.7976931348623157e308,
        1e100,
        1e-100,
        -728.5999755859375,
        3.578823433670343,
    ]
    values += [float(v) for v in rng.integers(0, 2**63, 150, dtype=np.int64).view(np.float64)]
    values += [float(rng.standard_normal() * 10.0**k) for k in range(-12, 24)]
    # A JavaScript number that is whole and safe stands for an int.
    values = [
        v for v in values if not (v == v and abs(v) <= 2**53 and v == int(v)) or str(v) == "-0.0"
    ]
    values += [
        0,
        -77,
        2**53 - 1,
        2**70,
        None,
        True,
        False,
        "",
        "abc",
        "it's",
        'say "hi"',
        'it\'s "both"',
        "a\\b\n\t\r\x00\x7f\xa0é",
        "ü漢😀",
        [],
        [1],
        (),
        (1,),
        (1, 2.5),
        [1, 1],
        [-1, 1],
        [[1, 2], (3, [4])],
        {},
        {"a": 1, "b": [2.5]},
        torch.Size([3, 1]),
        torch.Size([3]),
        torch.Size([]),
        (torch.Size([2]), 0.5),
        torch.tensor(5),
        list(range(100)),
        tuple(range(30)),
        list(range(1000)),
        list(range(1001)),
        ["x" * 70, 1],
        ["x" * 76],
        ["x" * 77],
        ["x" * 78, 2],
        [["x" * 74]],
        [["x" * 75]],
        (("x" * 74,),),
        (["a" * 30] * 2, ["b" * 30] * 2),
        [[1] * 40, 2],
    ]
    m = torch.tensor([[-118, -67, 25], [-89, 15, 96], [14, 80, 127]], dtype=torch.int8)
    values += [
        (m, 0.016929134609192376),
        (m, 0.011181414828580968, 2),
        [m, m],
        (0.5, m),
        (m,),
        [1, [2, m]],
        [1, [2, [3, m], 4], 5],
        {"q": m, "scale": 0.5},
        ({"q": m}, 1),
        (torch.zeros(3), 1),
        [torch.zeros(2)],
    ]
    values += [random_value(rng) for _ in range(250)]
    return [
        {
            "id": "python/%04d" % i,
            "value": tag(v),
            "repr": repr(v),
            "ipython": pretty(v, max_width=79),
        }
        for i, v in enumerate(values)
    ]


# ---------------------------------------------------------------- random numbers


def random_cases():
    cases = []

    def add(op, seed, args, result):
        cases.append(
            {
                "id": "random/%04d" % len(cases),
                "op": op,
                "seed": str(seed),
                "args": args,
                "out": encode(result),
            }
        )

    for seed in (0, 1, 42, 2**32 - 1, 2**32 + 5, -1):
        for shape in ([1], [5], [4, 4], [6, 6], [20], [700]):
            torch.manual_seed(seed)
            add("rand", seed, {"shape": shape, "dtype": "float32"}, torch.rand(shape))
            torch.manual_seed(seed)
            add("randn", seed, {"shape": shape, "dtype": "float32"}, torch.randn(shape))
        torch.manual_seed(seed)
        add("rand", seed, {"shape": [9], "dtype": "float64"}, torch.rand(9, dtype=torch.float64))
        for n in (9, 35):
            torch.manual_seed(seed)
            add(
                "randn",
                seed,
                {"shape": [n], "dtype": "float64"},
                torch.randn(n, dtype=torch.float64),
            )
        for low, high in ((0, 10), (-128, 128), (0, 2**32), (-5, 2**40)):
            torch.manual_seed(seed)
            add(
                "randint",
                seed,
                {"low": low, "high": high, "shape": [20]},
                torch.randint(low, high, (20,)),
            )
    # One generator serves all: an odd number of normal values leaves one for later.
    torch.manual_seed(3)
    add("randn", 3, {"shape": [3], "dtype": "float32"}, torch.randn(3))
    add("randn", "goes on", {"shape": [4], "dtype": "float32"}, torch.randn(4))
    add("rand", "goes on", {"shape": [3], "dtype": "float32"}, torch.rand(3))
    add("randn", "goes on", {"shape": [17], "dtype": "float32"}, torch.randn(17))
    add("randn", "goes on", {"shape": [2], "dtype": "float32"}, torch.randn(2))
    return cases


# ---------------------------------------------------------------- operations


def samples(name):
    if name == "bool":
        return [True, False, True]
    if name == "uint8":
        return [3, 200, 255]
    if name in INTS:
        info = torch.iinfo(dtype(name))
        return [5, info.min, info.max]
    return [2.5, -0.0, 1e10]


def attempt(f):
    try:
        return {"out": encode(f())}
    except Exception as e:  # noqa: BLE001
        return {"raises": type(e).__name__}


def op_cases():
    rng = np.random.default_rng(5)
    cases = []

    def add(op, args, f):
        cases.append({"id": "tensor_ops/%04d" % len(cases), "op": op, "in": args, **attempt(f)})

    def arg(v):
        return encode(v) if torch.is_tensor(v) else tag(v)

    # Every pair of dtypes, as tensors with dimensions, 0-d tensors and Python numbers.
    lefts = [torch.tensor(samples(a), dtype=dtype(a)) for a in DTYPES]
    lefts += [torch.tensor(samples(a)[0], dtype=dtype(a)) for a in DTYPES]
    rights = [torch.tensor(samples(b)[::-1], dtype=dtype(b)) for b in DTYPES]
    rights += [torch.tensor(samples(b)[2], dtype=dtype(b)) for b in DTYPES]
    rights += [True, 7, 300, -1, 2**40, 2.5, 0.1, 1e39]
    for a, b in itertools.product(lefts, rights):
        for op in ("add", "sub", "mul", "div"):
            add(op, [arg(a), arg(b)], lambda: getattr(torch, op)(a, b))
        add("result_type", [arg(a), arg(b)], lambda: torch.zeros(0, dtype=torch.result_type(a, b)))
    for a, b in itertools.product(lefts[:8], rights[:8]):
        for op in ("maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"):
            add(op, [arg(a), arg(b)], lambda: getattr(torch, op)(a, b))
    for a in lefts[:8]:
        for b in (3, 300, 2.5):
            for op in ("eq", "lt", "ge"):
                add(op, [arg(a), arg(b)], lambda: getattr(torch, op)(a, b))
        for n in (3.5, 2):
            add("rsub", [arg(a), arg(n)], lambda: n - a)
            add("rdiv", [arg(a), arg(n)], lambda: n / a)
        for n in (0, 1, 2, 3, -1, -2, 0.5):
            add("pow", [arg(a), arg(n)], lambda: a**n)

    # Conversions, with what does not fit.
    special = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.7,
        -1.7,
        127.5,
        128.0,
        -128.5,
        -129.0,
        255.9,
        256.0,
        -1.0,
        32767.5,
        32768.0,
        65535.5,
        65536.0,
        2147483520.0,
        2147483647.0,
        2147483648.0,
        2147483653.0,
        -2147483648.0,
        -2147483653.0,
        4294967296.0,
        9.2233715e18,
        9223372036854775807.0,
        -9223372036854775808.0,
        1e20,
        -1e20,
        1e39,
        1e-45,
        3e38,
        INF,
        -INF,
        NAN,
    ]
    whole = [
        0,
        1,
        -1,
        127,
        128,
        -128,
        -129,
        255,
        256,
        32768,
        65535,
        65536,
        16777217,
        2**31 - 1,
        2**31,
        -(2**31),
        2**32 + 7,
        2**53 + 1,
        2**60 + 2**36,
        2**60 + 2**36 + 1,
        2**60 + 3 * 2**36,
        2**63 - 1,
        -(2**63),
        -(2**60 + 2**36 + 1),
        -(2**60 + 3 * 2**36),
    ]
    sources = [torch.tensor(special, dtype=torch.float64).to(dtype(a)) for a in FLOATS]
    sources += [torch.tensor(whole).to(dtype(a)) for a in INTS + ["bool"]]
    for source, target in itertools.product(sources, DTYPES):
        add("to", [arg(source), target], lambda: source.to(dtype(target)))

    # One tensor, element by element.
    ties = [k + 0.5 for k in range(-6, 6)] + [
        0.49999997,
        8388607.5,
        -8388607.5,
        1e10,
        4503599627370495.5,
    ]
    floats = ties + special
    for name in FLOATS:
        t = torch.tensor(floats, dtype=dtype(name))
        for op in (
            "abs",
            "neg",
            "square",
            "round",
            "floor",
            "ceil",
            "trunc",
            "reciprocal",
            "isnan",
            "isinf",
            "isfinite",
        ):
            add(op, [arg(t)], lambda: getattr(torch, op)(t))
        add("sqrt", [arg(t.abs())], lambda: torch.sqrt(t.abs()))
        for lo, hi in (
            (-128, 127),
            (0, 255),
            (-(2**31), 2**31 - 1),
            (-(2**63), 2**63 - 1),
            (-1.5, 1.5),
            (5, -5),
            (None, 3),
            (0.1, None),
            (NAN, 1),
            (-INF, INF),
            (1e39, None),
        ):
            add("clamp", [arg(t), tag(lo), tag(hi)], lambda: torch.clamp(t, lo, hi))
    for name in INTS + ["bool"]:
        t = torch.tensor(samples(name), dtype=dtype(name))
        for op in ("abs", "neg", "square", "round", "reciprocal", "isnan", "isfinite"):
            add(op, [arg(t)], lambda: getattr(torch, op)(t))
        for lo, hi in ((-3, 50), (0, 300), (-3.5, 50.5), (None, 7), (-1000, None)):
            add("clamp", [arg(t), tag(lo), tag(hi)], lambda: torch.clamp(t, lo, hi))
        for op in ("sum", "max", "min", "mean", "argmax", "argmin"):
            add(op, [arg(t)], lambda: getattr(torch, op)(t))
        for value in (300, -1, -256, 2.7, -1.5, True, NAN):
            add("full", [[2], tag(value), name], lambda: torch.full((2,), value, dtype=dtype(name)))
    for value in (1e39, INF, NAN, 2**60, True, -0.0):
        add(
            "full",
            [[2], tag(value), "float32"],
            lambda: torch.full((2,), value, dtype=torch.float32),
        )

    # Sums in PyTorch's order: shapes, memory layouts and dimensions.
    def reduce(t, given):
        for op in ("sum", "mean"):
            add(op, [given], lambda: getattr(torch, op)(t))
            for dim in range(t.dim()):
                keep = bool(rng.integers(0, 2))
                add(op, [given, dim, keep], lambda: getattr(torch, op)(t, dim, keep))
        if t.dim() > 2:
            dims = sorted(int(v) for v in rng.choice(t.dim(), 2, replace=False))
            add("sum", [given, dims, False], lambda: torch.sum(t, dims))

    shapes = [
        (1,),
        (7,),
        (8,),
        (33,),
        (64, 3),
        (3, 64),
        (40, 40),
        (2, 9, 17),
        (17, 2, 9),
        (100, 33),
        (33, 100),
        (5, 4, 3, 2),
        (1, 50, 1),
        (600,),
        (3000,),
        (130, 70),
    ]
    for shape in shapes:
        for name in FLOATS:
            n, seed = int(np.prod(shape)), int(rng.integers(1, 2**31))
            recipe = {
                "gen": "lcg",
                "n": n,
                "seed": seed,
                "lo": -1.0,
                "hi": 3.0,
                "shape": list(shape),
                "t": {"float32": "f32", "float64": "f64"}[name],
            }
            t = torch.from_numpy(lcg(n, seed, -1.0, 3.0)).to(dtype(name)).reshape(shape)
            reduce(t, recipe)
            if len(shape) > 1:
                order = [int(v) for v in rng.permutation(len(shape))]
                reduce(t.permute(order), {**recipe, "permute": order})
                reduce(t.permute(order) * 0.3, {**recipe, "permute": order, "mul": 0.3})
                reduce(t.select(-1, 0), {**recipe, "select": [-1, 0]})
    # Memory layout of results.
    a = torch.zeros(3, 4, 2)
    for op, t in (
        ("add", a.permute(2, 0, 1) + 1),
        ("add", a.permute(2, 0, 1) + a.permute(2, 0, 1)),
        ("add", a.permute(1, 0, 2) + a.permute(1, 0, 2).contiguous()),
        ("neg", -a.permute(1, 2, 0)),
        ("to", a.permute(2, 1, 0).to(torch.int8)),
        ("expand", a.select(2, 0) + torch.zeros(4)),
    ):
        cases.append(
            {
                "id": "tensor_ops/%04d" % len(cases),
                "op": "strides",
                "in": [op],
                "out": list(t.stride()),
            }
        )
    return cases


def fuzz(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        t = random_tensor(rng, rng.random() < 0.1)
        sys.stdout.write(
            json.dumps({"tensor": encode(t), "text": str(t)}, separators=(",", ":")) + "\n"
        )


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--fuzz":
        fuzz(int(sys.argv[2]), int(sys.argv[3]))
    else:
        write("printing", "str(tensor)", printing_cases())
        write("python", "repr(value), and what IPython shows for it", python_cases())
        write("random", "torch.rand, randn and randint after torch.manual_seed", random_cases())
        about = "tensor operations: dtypes, values, errors, memory layout"
        write("tensor_ops", about, *share_values(op_cases()))
