# Makes torch_functions.json: functions of torch and methods of tensors, with what PyTorch gives.
# See README.md.

import base64
import json
import math
from pathlib import Path

import torch

torch.set_num_threads(1)
inf, nan = math.inf, math.nan
F, I, B = torch.float32, torch.int64, torch.bool


def f(*values, dtype=F):
    return torch.tensor(values, dtype=dtype)


def exact(number):
    return number if abs(number) <= 2**53 else str(number)


def encode(value):
    if isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        flat = value.contiguous().reshape(-1)
        shape = list(value.shape)
        if value.dtype.is_floating_point:
            data = base64.b64encode(bytes(flat.numpy().tobytes())).decode()
            return {"t": {"float32": "f32", "float64": "f64"}[name], "shape": shape, "b64": data}
        return {"t": name, "shape": shape, "data": [exact(int(each)) for each in flat.tolist()]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, bool) or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if value is None:
        return {"none": 0}
    if isinstance(value, (tuple, list)):
        return [encode(each) for each in value]
    raise TypeError(type(value))


cases = []


def case(name, *args, **keywords):
    """Calls torch.name, or Tensor.name if the name begins with a dot."""
    before = [encode(each) for each in args]
    one = {"op": name, "in": before}
    if keywords:
        one["with"] = {key: encode(value) for key, value in keywords.items()}
    try:
        if name.startswith("."):
            out = getattr(args[0], name[1:])(*args[1:], **keywords)
        else:
            owner = torch
            for part in name.split("."):
                owner = getattr(owner, part)
            out = owner(*args, **keywords)
        one["out"] = encode(out)
    except Exception as error:
        one["raises"] = type(error).__name__
    cases.append(one)


x = f(3, -1.5, nan, 2, -inf, 2, -0.0, 0, inf)
m = torch.tensor([[0.5, -2.25, 3], [7, 0.125, -1]])
k = torch.tensor([[5, -3, 2, 5], [0, 9, -3, 1]])
bits = torch.tensor([[True, False, True], [False, False, True]])
u8 = torch.tensor([0, 1, 2, 3, 200, 255], dtype=torch.uint8)
i8 = torch.tensor([-128, -3, -1, 0, 1, 2, 127], dtype=torch.int8)
i32 = torch.tensor([-(2**31), -7, 0, 3, 2**31 - 1], dtype=torch.int32)
big = torch.tensor([-(2**63), -5, 0, 3, 2**53 + 1])
cube = torch.arange(24, dtype=F).reshape(2, 3, 4)
empty = torch.zeros(0)
zero_d = torch.tensor(2.5)
spread = torch.tensor([[0.1, 0.2, 0.7, 1e3], [-1e-3, 5.5, 2.2, 1.1], [3.3, 3.3, -8.8, 0]])

# Creation.
for start, end, steps in [(0, 1, 5), (0, 1, 11), (-3, 3, 7), (0.1, 0.9, 20), (1, 0, 3), (5, 5, 2), (2, 9, 1), (0, 1, 0), (-1e10, 1e10, 33)]:
    case("linspace", start, end, steps)
    case("linspace", start, end, steps, dtype=torch.float64)
case("linspace", 0, 10, 4, dtype=torch.int32)
case("linspace", -5, 5, 8, dtype=I)
case("linspace", 0, 1, -1)
case("linspace", 0, 1)
case("logspace", 0, 3, 4)
case("logspace", -2, 2, 5, base=2)
for args, keys in [((3,), {}), ((2, 4), {}), ((3, 2), {"dtype": torch.int8}), ((0,), {}), ((-1,), {}), ((2,), {"dtype": B})]:
    case("eye", *args, **keys)
case("full_like", m, 7)
case("full_like", k, 2, dtype=F)
case("full_like", u8, 300)
case("empty_like", empty)
for n in (0, 1, 2, 7, 40):
    torch.manual_seed(n)
    case("randperm", n)
    cases[-1]["seed"] = n
torch.manual_seed(3)
case("rand_like", m)
cases[-1]["seed"] = 3
torch.manual_seed(4)
case("randn_like", m)
cases[-1]["seed"] = 4
case("rand_like", k)

# Order.
for t in (x, m, k, bits, u8, empty, zero_d, big):
    for descending in (False, True):
        case("sort", t, stable=True, dim=-1, descending=descending)
        case(".argsort", t, dim=-1, descending=descending, stable=True)
case("sort", m, 0)
case("sort", m, 2)
case("sort", cube.flip(1), 1)
case("topk", f(3, 1, 4, 1.5, 9, 2.6, 5), 3)
case("topk", f(3, 1, 4, 1.5, 9, 2.6, 5), 3, largest=False)
case("topk", m, 2, 0)
case("topk", m, 1, dim=1, largest=False)
case("topk", m, 4)
case("topk", x, 2)
case("topk", zero_d, 1)
case("topk", m, 0)
case("kthvalue", f(3, 1, 4, 1.5, 9), 2)
case("kthvalue", m, 1, 0, True)
case("kthvalue", m, 4)
case("kthvalue", m, 0)
for t in (f(3, 1, 4, 1.5), f(5, 1, 3), x, k, empty, zero_d, bits, i8):
    case("median", t)
case("median", m, 1)
case("median", m, 0, keepdim=True)
case("median", cube, -1)
case("median", torch.zeros(2, 0), 1)
for t in (x, m, k, zero_d, bits):
    case("cummax", t, 0)
    case(".cummin", t, -1)
case("unique", f(3, 1, 3, 2, 1))
case("unique", k, return_inverse=True, return_counts=True)
case("unique", k, return_counts=True)
case("unique", bits, return_inverse=True)
case("unique", f(nan, 1, nan))
case("unique", empty)
case("bucketize", f(-1, 0.5, 1, 2, nan, 9), f(0, 1, 2))
case("bucketize", f(-1, 0.5, 1, 2, nan, 9), f(0, 1, 2), right=True)
case("bucketize", k, torch.tensor([0, 5]))
case("searchsorted", f(0, 1, 2), f(1, 1.5), right=True)
case("searchsorted", f(0, 1, 2), f(1, 1.5))

# Statistics.
for name in ("var", "std"):
    for t in (m, spread, f(1), empty, zero_d, k, spread.double(), x):
        case(name, t)
    case(name, spread, 0)
    case(name, spread, 1, True)
    case(name, spread, 1, False)
    case(name, spread, 1, True, True)
    case(name, spread, unbiased=False)
    case(name, spread, False)
    case(name, spread, dim=1, correction=0)
    case(name, spread, dim=(0, 1), correction=2, keepdim=True)
    case(name, cube, (0, 2))
    case(name, f(1, 2), correction=3)
for t in (m, k, bits, u8, empty, big, zero_d):
    case("prod", t)
case("prod", m, 1)
case("prod", k, 0, True)
case("prod", k, dtype=F)
case("prod", torch.zeros(2, 0), 1)
for p in (2, 1, 0, inf, -inf, 3, "fro", 0.5):
    case(".norm", spread, p)
    case(".norm", spread, p, 1)
case(".norm", spread)
case("norm", spread, dim=0, keepdim=True)
case(".norm", k)
case(".norm", empty)
case(".norm", x)
case("logsumexp", spread, 1)
case("logsumexp", f(-inf, -inf), 0)
case("logsumexp", f(1000, 1000), 0)
case("logsumexp", m, (0, 1))
case("log_softmax", spread, 1)
case("log_softmax", spread, 0)
case("log_softmax", k, 0)
case("nn.functional.log_softmax", m, dim=-1)
case("count_nonzero", x)
case("count_nonzero", k, 0)
case("count_nonzero", bits, dim=(0, 1))
case("aminmax", m)
case("aminmax", m, dim=0)
case("aminmax", m, dim=1, keepdim=True)
case("aminmax", x)
case("aminmax", empty)
for t in (x, m, k, bits, u8, zero_d, empty, spread, big):
    case("cumsum", t, 0)
    case("cumprod", t, -1)
case("cumsum", spread, 1)
case("cumsum", k, 1, dtype=F)
case("cumsum", spread, 2)
case("cumsum", spread)
case("diff", f(1, 4, 9, 16))
case("diff", f(1, 4, 9, 16), 2)
case("diff", k, dim=0)
case("diff", bits)
case("diff", f(1), 3)
case("diff", zero_d)
case("diff", u8)
for q in (0, 0.5, 1, 0.3, 0.25, 0.9):
    case("quantile", spread, float(q))
    case("quantile", spread, float(q), 1)
for way in ("linear", "lower", "higher", "midpoint", "nearest"):
    case("quantile", f(1, 2, 4, 8), 0.4, interpolation=way)
    case("quantile", f(1, 2, 4, 8), 0.5, interpolation=way)
case("quantile", spread, f(0.1, 0.5, 0.9))
case("quantile", spread, f(0.1, 0.5, 0.9), 0, True)
case("quantile", spread, f(0.1, 0.5), dim=1)
case("quantile", x, 0.5)
case("quantile", spread, 1.5)
case("quantile", k, 0.5)
case("quantile", empty, 0.5)
case("quantile", spread, 0.5, interpolation="cubic")
case("quantile", spread.double(), 0.35)
case("histc", f(1, 2, 1), 4, 0, 3)
case("histc", spread, 5)
case("histc", spread, 7, -2, 6)
case("histc", spread, bins=3, min=0, max=4)
case("histc", f(2, 2), 3)
case("histc", f(1, nan), 3)
case("histc", f(1, nan), 3, 0, 2)
case("histc", f(1, inf), 3)
case("histc", spread, 0)
case("histc", f(1), 2, 3, 1)
case("histc", empty, 3)
case("histc", torch.linspace(-1, 1, 101), 10)
case("bincount", torch.tensor([0, 3, 1, 3]))
case("bincount", u8[:4], minlength=6)
case("bincount", torch.tensor([0, 2, 2]), f(0.5, 1, 0.25))
case("bincount", torch.tensor([0, -1]))
case("bincount", m)
case("bincount", torch.zeros(0, dtype=I))
case("bincount", torch.tensor([1, 2]), torch.tensor([1, 2]))

# Elements by mask or index.
case("masked_select", m, m > 0)
case("masked_select", m, torch.tensor([True, False, True]))
case("masked_select", m, k > 0)
case("masked_select", m, m)
case(".masked_fill", m, m > 0, 0)
case(".masked_fill", m, m > 0, -inf)
case(".masked_fill", k, k > 0, 7)
case(".masked_fill", k, k > 0, 7.5)
case(".masked_fill", m, bits, torch.tensor(9.0))
case(".masked_fill", m, bits, f(1, 2))
case(".masked_fill", m, torch.tensor([True, False, False]), 0)
case("index_select", m, 1, torch.tensor([2, 0, 0]))
case("index_select", m, 0, torch.tensor(1))
case("index_select", m, 0, torch.tensor([2]))
case("index_select", m, 0, torch.tensor([-1]))
case("index_select", m, 0, f(0))
case("index_select", m, 0, torch.tensor([[0]]))
case("index_select", cube, 2, torch.tensor([3, 1], dtype=torch.int32))
case("gather", m, 1, torch.tensor([[0, 2], [1, 1]]))
case("gather", m, 0, torch.tensor([[0, 1, 0]]))
case("gather", m, 1, torch.tensor([[3], [0]]))
case("gather", m, 1, torch.tensor([0]))
case("gather", m, 0, torch.tensor([[0, 0, 0, 0]]))
case("gather", f(5, 6), 0, torch.tensor(1))
z = torch.zeros(2, 3)
case("scatter", z, 1, torch.tensor([[0, 2], [1, 1]]), m)
case("scatter", z, 1, torch.tensor([[0, 2], [1, 0]]), 5)
case("scatter", z, 0, torch.tensor([[1, 0, 1]]), 1.5)
case("scatter", z, 1, torch.tensor([[3]]), 1.5)
case("scatter", z, 1, torch.tensor([[0]]), k)
case("scatter_add", torch.ones(2, 3), 1, torch.tensor([[0, 2], [1, 1]]), m)
case("scatter_add", torch.zeros(3), 0, torch.tensor([1, 1, 1, 0]), f(1, 2, 4, 8))
case("take", m, torch.tensor([0, 5, 3]))
case("take", m, torch.tensor([[-1, 2]]))
case("take", m, torch.tensor([6]))
for t in (x, m, k, bits, zero_d, empty, torch.tensor(0)):
    case("nonzero", t)
    case("nonzero", t, as_tuple=True)
    case("argwhere", t)
    case("where", t)
case("isin", k, torch.tensor([5, -3]))
case("isin", k, 5)
case("where", bits, m, 0)

# Elements in other places.
case("flip", m, [0])
case("flip", m, [0, 1])
case("flip", cube, (2, 0))
case(".flip", m, 1)
case("flip", m, [0, 0])
case("flip", m, [2])
case("flip", k, ())
case("roll", f(1, 2, 3, 4), 1)
case("roll", m, 1)
case("roll", m, -1, 1)
case("roll", m, (1, 1), (0, 1))
case("roll", m, (1, 1))
case("roll", empty, 2)
case(".repeat", f(1, 2), 2)
case(".repeat", f(1, 2), 2, 3)
case(".repeat", m, 1, 2)
case(".repeat", m, 2)
case(".repeat", f(1), 0)
case(".repeat", f(1), -1)
case("tile", m, (2,))
case(".tile", m, 2, 1, 1)
case("repeat_interleave", f(1, 2), 2)
case("repeat_interleave", m, 2, 1)
case("repeat_interleave", m, 2)
case("repeat_interleave", m, torch.tensor([1, 2]), 0)
case("repeat_interleave", m, torch.tensor([1, 2, 3]), dim=0)
case("split", m, 1)
case("split", m, 2, 1)
case("split", m, [1, 2], 1)
case("split", m, [1, 1], 1)
case("split", m, 0)
case("split", zero_d, 1)
case("chunk", torch.arange(7), 3)
case("chunk", m, 2, 1)
case("chunk", m, 5, dim=1)
case("chunk", m, 0)
case("chunk", empty, 3)
case("unbind", m)
case("unbind", m, 1)
case("unbind", zero_d)
case("unflatten", torch.arange(6), 0, (2, 3))
case("unflatten", torch.arange(6), 0, (2, -1))
case("unflatten", torch.arange(6), 0, (4, 2))
case("ravel", m.t())
case("movedim", cube, 0, 2)
case("movedim", cube, (0, 1), (1, 2))
case("movedim", cube, 0, 3)
case("swapaxes", cube, 0, 2)
case("broadcast_to", f(1, 2), (3, 2))
case("broadcast_to", f(1, 2), (3, 3))
case(".expand_as", f(1, 2, 3), m)
case(".view_as", f(1, 2, 3, 4, 5, 6), m)
case(".reshape_as", m.t(), torch.zeros(6))
case("diagonal", m)
case("diagonal", m, 1)
case("diagonal", cube, 0, 1, 2)
case("diagonal", cube, -1, 0, 2)
case("diagonal", m, 5)
case("diag", f(1, 2))
case("diag", f(1, 2), -1)
case("diag", m)
case("diag", m, 1)
case("diag", cube)
for offset in (0, 1, -1, 5):
    case("tril", m, offset)
    case("triu", cube, offset)
case("tril", f(1, 2))
case("triu", k)
case("hstack", [f(1), f(2, 3)])
case("hstack", [m, m])
case("vstack", [f(1, 2, 3), m])
case("meshgrid", f(1, 2, 3), f(4, 5), indexing="ij")
case("meshgrid", f(1, 2, 3), f(4, 5), indexing="xy")
case("nn.functional.pad", m, (1, 2))
case("nn.functional.pad", m, (0, 1, 2, 0), value=5.0)
case("nn.functional.pad", m, (-1, 0))
case("nn.functional.pad", m, (1,))
case("nn.functional.pad", k, (1, 0), "constant", 3)

# Products.
a, b = torch.arange(6, dtype=F).reshape(2, 3), torch.arange(12, dtype=F).reshape(3, 4)
case("mm", a, b)
case("mm", a, a)
case("mm", a, f(1, 2, 3))
case("mv", a, f(1, 2, 3))
case("mv", a, b)
case("dot", f(1, 2), f(3, 4))
case("dot", f(1, 2), a)
case("dot", torch.tensor([1, 2]), torch.tensor([3, 4]))
case("bmm", cube, cube.transpose(1, 2))
case("bmm", cube, cube)
case("outer", f(1, 2), f(3, 4, 5))
case("outer", torch.tensor([1, 2]), f(3, 4.5))
case("outer", a, f(1))
case("trace", a)
case("trace", k)
case("trace", f(1))
for equation, operands in [
    ("ij,jk->ik", (a, b)),
    ("ij,jk", (a, b)),
    ("ij->ji", (a,)),
    ("ba", (a,)),
    ("ij->", (a,)),
    ("ii->i", (cube[0, :3, :3],)),
    ("ii", (cube[0, :3, :3],)),
    ("i,j->ij", (f(1, 2), f(3, 4, 5))),
    ("bij,bjk->bik", (cube, cube.transpose(1, 2))),
    ("...ij->...ji", (cube,)),
    ("...i,i->...", (cube, f(1, 2, 3, 4))),
    ("ij,ij->i", (k, k)),
    ("i,i,i->", (f(1, 2), f(3, 4), f(5, 6))),
    ("ij,jk->iq", (a, b)),
    ("ij,jk", (a, a)),
    ("ij", (a, b)),
    ("ijk", (a,)),
    ("i j , j k -> k i", (a, b)),
]:
    case("einsum", equation, *operands)

# Element by element.
wide = f(0, -0.0, 1, -1, 0.5, 2, -2.5, 10, 1e-3, 88, nan, inf, -inf)
for name in ("log2", "log10", "log1p", "exp2", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "rsqrt"):
    case(name, wide)
    case(name, i8)
for name in ("sign", "signbit", "frac", "logical_not", "bitwise_not", "nan_to_num"):
    for t in (wide, i8, u8, bits, big, i32):
        case(name, t)
case("nan_to_num", wide, 1.0, 2.0, 3.0)
for name in ("clamp_min", "clamp_max"):
    for t, bound in [(wide, 0.5), (i8, 0), (i8, 0.5), (wide, torch.ones(13)), (bits, 1), (u8, -1)]:
        case(name, t, bound)
for name in ("remainder", "fmod"):
    case(name, f(7, -7, 7, -7, 1, inf, 5.5), f(3, 3, -3, -3, 0, 2, inf))
    case(name, i32, 3)
    case(name, i32, -3)
    case(name, i32, 0)
    case(name, big, 7)
    case(name, f(5.3, -5.3), 0.7)
    case(name, bits, bits)
for name in ("logical_and", "logical_or", "logical_xor"):
    case(name, f(0, 1, nan, 0), f(0, 0, 1, 2))
    case(name, bits, torch.tensor([True, True, False]))
    case(name, torch.tensor([0, 2]), f(0.5, 0))
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    for left, right in [(u8, 6), (i8, -2), (bits, True), (bits, torch.tensor([True, True, False])), (u8, torch.tensor([1, 2, 3, 4, 5, 256])), (m, 1), (big, 3)]:
        case(name, left, right)
for name in ("bitwise_left_shift", "bitwise_right_shift"):
    for left, right in [(u8, 2), (i8, 1), (i8, 7), (i8, 9), (u8, 8), (i32, 31), (i32, 32), (big, 3), (big, 64), (m, 1), (i8, -1), (u8, torch.tensor([0, 1, 2, 3, 4, 5], dtype=torch.uint8))]:
        case(name, left, right)
case("atan2", f(1, -1, 0, -0.0), f(0, 2, -1, -1))
case("isclose", f(1, 1, nan, inf, 2), f(1 + 1e-6, 1.1, nan, inf, -inf))
case("isclose", f(nan), f(nan), equal_nan=True)
case("isclose", k, k + 1, atol=1)
case("isclose", k, m)
case("pow", 2, torch.tensor([0, 1, 5, 62]))
case("pow", 2.5, torch.tensor([0, 1, 5, -2]))
case("pow", f(2, 3, 4), f(3, 0.5, -1))
case("pow", torch.tensor([2, -1, 0, 1, -3]), torch.tensor([3, -3, 0, -5, -1]))
case("pow", i8, torch.tensor([0, 1, 2, 3, 4, 5, 6], dtype=torch.int8))
case("floor_divide", k, 2)
case("floor_divide", m, 0.5)

# Reductions that take more arguments, and functions that methods had.
case("sum", i8, dtype=torch.int8)
case("sum", k, 1, dtype=F)
case("sum", m, 0, True, dtype=I)
case("mean", k, dtype=F)
case("mean", k, 0, dtype=torch.float64)
case("mean", k)
case("amax", cube, (0, 2))
case("amin", cube, (0, 1), True)
case("amax", m)
case("amax", m, 1)
case("argmax", m)
case("argmin", m, 1)
case("permute", cube, (2, 0, 1))
case("t", m)
case("numel", m)
case("select", m, 1, -1)
case("narrow", m, 1, 1, 2)
case("nn.functional.mse_loss", m, m * 2)
case("nn.functional.l1_loss", m, m + 0.5, reduction="sum")
case("nn.functional.mse_loss", m, m - 1, reduction="none")
case("nn.functional.mse_loss", m, m, reduction="all")
case("nn.functional.cross_entropy", spread, torch.tensor([0, 3, 1]))
case("nn.functional.cross_entropy", spread, torch.tensor([0, 3, 1]), reduction="none")
case("nn.functional.one_hot", torch.tensor([[0, 2], [1, 0]]))
case("nn.functional.one_hot", torch.tensor([0, 2]), 4)
case("nn.functional.one_hot", torch.tensor([0, 2]), num_classes=2)
case("nn.functional.one_hot", f(1))

# Indexing by masks and tensors: the index is an argument.
for t, index in [
    (m, m > 0),
    (m, torch.tensor([True, False])),
    (cube, torch.tensor([[True, False, True], [False, False, True]])),
    (m, torch.tensor([1, 0, -1])),
    (m, torch.tensor([[0], [1]])),
    (m, torch.tensor(1)),
    (m, torch.tensor([2])),
    (m, torch.tensor([True, False, True])),
]:
    one = {"op": "[]", "in": [encode(t), encode(index)]}
    try:
        one["out"] = encode(t[index])
    except Exception as error:
        one["raises"] = type(error).__name__
    cases.append(one)
for t, index, value in [
    (m, m > 0, 0),
    (m, m > 0, f(1, 2, 3, 4)),
    (m, torch.tensor([False, True]), f(1, 2, 3)),
    (m, torch.tensor([1]), 9.5),
    (k, torch.tensor([0, 1]), 7),
    (m, bits, f(1, 2)),
    (u8, u8 > 100, 300),
]:
    one = {"op": "[]=", "in": [encode(t), encode(index), encode(value)]}
    try:
        copy = t.clone()
        copy[index] = value
        one["out"] = encode(copy)
    except Exception as error:
        one["raises"] = type(error).__name__
    cases.append(one)

for id, one in enumerate(cases):
    one["id"] = f"torch-functions-{id}"
head = {
    "meta": {"torch": torch.__version__.split("+")[0], "machine": "x86-64, one thread"},
    "about": "functions of torch and methods of tensors that learners of PyTorch use",
}
lines = ",\n".join(json.dumps({"id": one.pop("id"), **one}, separators=(",", ":")) for one in cases)
text = json.dumps(head, separators=(",", ":"))[:-1] + ',"cases":[\n' + lines + "\n]}\n"
(Path(__file__).parent / "torch_functions.json").write_text(text)
print(len(cases), len(text))
