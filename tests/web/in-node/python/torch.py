"""A stand-in for the functions of PyTorch that the page's Python calls: tensors of float32 and integers, in plain Python.

Every operation rounds to float32 once, as PyTorch's does. What PyTorch does not have is not here either, so that code
with a wrong name or keyword fails. Observers and QConfigs have names and keywords, without results.
"""

import math
import random
import struct
import sys
import types


class dtype:
    def __init__(self, name, low=None, high=None):
        self.name, self.min, self.max = name, low, high


float32 = dtype("float32")
int8 = dtype("int8", -128, 127)
uint8 = dtype("uint8", 0, 255)
int16 = dtype("int16", -(2**15), 2**15 - 1)
int64 = dtype("int64", -(2**63), 2**63 - 1)
qint8 = dtype("qint8", -128, 127)
quint8 = dtype("quint8", 0, 255)
per_tensor_affine = "per_tensor_affine"
per_channel_symmetric = "per_channel_symmetric"


def iinfo(kind):
    return types.SimpleNamespace(min=kind.min, max=kind.max)


def _stored(value, kind):
    """A value as a dtype holds it: float32 rounds, integers wrap around."""
    if kind is float32:
        return struct.unpack("f", struct.pack("f", value))[0]
    span = kind.max - kind.min + 1
    return (int(value) - kind.min) % span + kind.min


class Size(tuple):
    pass


class Tensor:
    def __init__(self, data, shape, kind):
        assert len(data) == math.prod(shape)
        self.data = [_stored(value, kind) for value in data]
        self.shape, self.dtype = Size(shape), kind

    def __repr__(self):
        return f"tensor({self.data})"

    def _with(self, data, kind=None):
        return Tensor(data, self.shape, kind or self.dtype)

    def _at(self, shape):
        """The value at each index of a shape to which this one is broadcast."""
        mine = (1,) * (len(shape) - len(self.shape)) + self.shape
        if any(a != b and a != 1 for a, b in zip(mine, shape)):
            raise ValueError(f"{self.shape} is not broadcast to {shape}")
        for place in range(math.prod(shape)):
            index, step, rest = 0, 1, place
            for length, wanted in zip(reversed(mine), reversed(shape)):
                index += (rest % wanted if length > 1 else 0) * step
                rest //= wanted
                step *= length
            yield self.data[index]

    def _binary(self, other, work, divides=False):
        kind = self.dtype
        if isinstance(other, Tensor):
            if float32 in (kind, other.dtype):
                kind = float32
            elif other.dtype is not kind:
                kind = int64
            ranks = max(len(self.shape), len(other.shape))
            padded = [(1,) * (ranks - len(each.shape)) + each.shape for each in (self, other)]
            shape = tuple(max(pair) for pair in zip(*padded))
            others = list(other._at(shape))
        else:
            if isinstance(other, float):
                kind = float32
            shape = self.shape
            others = [_stored(other, kind)] * len(self.data)
        if divides:
            kind = float32
        pairs = zip(self._at(shape), others)
        return Tensor([work(a, b) for a, b in pairs], shape, kind)

    def __add__(self, other):
        return self._binary(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._binary(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self._binary(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self._binary(other, lambda a, b: a / b, divides=True)

    def __lt__(self, other):
        return self._binary(other, lambda a, b: a < b).to(int64)

    def __gt__(self, other):
        return self._binary(other, lambda a, b: a > b).to(int64)

    def __setitem__(self, index, value):
        assert len(self.shape) == 1
        self.data[index] = _stored(value, self.dtype)

    def abs(self):
        return self._with([abs(value) for value in self.data])

    def square(self):
        return self._with([value * value for value in self.data])

    def clamp(self, low, high):
        return self._with([min(max(value, low), high) for value in self.data])

    def to(self, kind):
        return self._with(self.data, kind)

    def float(self):
        return self.to(float32)

    def _reduced(self, work, dim):
        if dim is None:
            return Tensor([work(self.data)], (), self.dtype)
        rows = [self.select(dim, i).data for i in range(self.shape[dim])]
        shape = self.shape[:dim] + self.shape[dim + 1 :]
        return Tensor([work(values) for values in zip(*rows)], shape, self.dtype)

    def max(self):
        return self._reduced(max, None)

    def min(self):
        return self._reduced(min, None)

    def amax(self, dim):
        return self._reduced(max, dim)

    def sum(self):
        return self._reduced(math.fsum, None)

    def mean(self, dim=None):
        return self._reduced(lambda values: math.fsum(values) / len(values), dim)

    def argmax(self, dim):
        return self._reduced(lambda values: values.index(max(values)), dim).to(int64)

    def item(self):
        (value,) = self.data
        return value

    def tolist(self):
        rows = list(self.data)
        for length in reversed(self.shape[1:]):
            rows = [rows[i : i + length] for i in range(0, len(rows), length)]
        return rows

    def dim(self):
        return len(self.shape)

    def size(self):
        return self.shape

    def select(self, dim, index):
        inner = math.prod(self.shape[dim + 1 :])
        block = inner * self.shape[dim]
        starts = range(index * inner, len(self.data), block)
        data = [value for start in starts for value in self.data[start : start + inner]]
        return Tensor(data, self.shape[:dim] + self.shape[dim + 1 :], self.dtype)

    def view(self, *shape):
        if len(shape) == 1 and not isinstance(shape[0], int):
            (shape,) = shape
        known = math.prod(length for length in shape if length != -1)
        shape = [len(self.data) // known if length == -1 else length for length in shape]
        return Tensor(self.data, shape, self.dtype)

    reshape = view


def tensor(data, dtype=None):
    def shape_of(value):
        return (len(value), *shape_of(value[0])) if isinstance(value, list) else ()

    def flat(value):
        return [one for each in value for one in flat(each)] if isinstance(value, list) else [value]

    values = flat(data)
    given = float32 if any(isinstance(value, float) for value in values) else int64
    return Tensor(values, shape_of(data), dtype or given)


def zeros(*shape):
    return Tensor([0] * math.prod(shape), shape, float32)


def randn(shape):
    return Tensor([random.gauss(0, 1) for _ in range(math.prod(shape))], shape, float32)


def rand(shape):
    return Tensor([random.random() for _ in range(math.prod(shape))], shape, float32)


def round(values):
    from builtins import round as round_half_even

    return values._with([round_half_even(value) for value in values.data])


def _quantized(values, scales, zero_points, kind):
    """The values of codes: PyTorch multiplies by the reciprocal and adds the zero point after rounding."""
    from builtins import round as round_half_even

    data = []
    for value, scale, zero_point in zip(values.data, scales, zero_points):
        steps = _stored(value * _stored(1 / scale, float32), float32)
        code = min(max(round_half_even(steps) + int(zero_point), kind.min), kind.max)
        data.append((code - int(zero_point)) * scale)
    return values._with(data)


def quantize_per_tensor(input, scale, zero_point, dtype):
    count = len(input.data)
    return _quantized(input, [scale.item()] * count, [zero_point.item()] * count, dtype)


def quantize_per_channel(input, scales, zero_points, axis, dtype):
    shape = [1] * input.dim()
    shape[axis] = -1
    each = [list(given.view(shape)._at(input.shape)) for given in (scales, zero_points)]
    return _quantized(input, *each, dtype)


def _linear(input, weight):
    rows = [weight.select(0, i).data for i in range(weight.shape[0])]
    width = input.shape[-1]
    samples = [input.data[i : i + width] for i in range(0, len(input.data), width)]
    sums = [math.fsum(a * b for a, b in zip(sample, row)) for sample in samples for row in rows]
    return Tensor(sums, (*input.shape[:-1], len(rows)), float32)


class _Normal:
    def __init__(self, loc, scale):
        self.loc, self.scale = loc, scale

    def sample(self, sample_shape):
        return randn(sample_shape) * self.scale + self.loc


class MovingAverageMinMaxObserver:
    def __init__(self, averaging_constant=0.01, dtype=quint8, qscheme=per_tensor_affine):
        self.seen = 0

    @classmethod
    def with_args(cls, **keywords):
        cls(**keywords)
        return lambda: cls(**keywords)

    def forward(self, x_orig):
        assert x_orig.dtype is float32
        self.seen += 1
        return x_orig

    def calculate_qparams(self):
        assert self.seen == 3


class HistogramObserver(MovingAverageMinMaxObserver):
    def __init__(self, bins=2048, dtype=quint8, qscheme=per_tensor_affine):
        super().__init__()


class MovingAveragePerChannelMinMaxObserver(MovingAverageMinMaxObserver):
    def __init__(self, averaging_constant=0.01, ch_axis=0, dtype=quint8, qscheme=per_channel_symmetric):
        super().__init__()


class QConfig:
    def __init__(self, activation, weight):
        assert callable(activation) and callable(weight)


def _module(name, **content):
    made = types.ModuleType(f"torch.{name}")
    vars(made).update(content)
    sys.modules[made.__name__] = made
    return made


distributions = _module("distributions", normal=types.SimpleNamespace(Normal=_Normal))
nn = _module("nn", functional=types.SimpleNamespace(linear=_linear))
_observers = [MovingAverageMinMaxObserver, HistogramObserver, MovingAveragePerChannelMinMaxObserver]
_quantization = _module("ao.quantization", QConfig=QConfig, **{each.__name__: each for each in _observers})
ao = _module("ao", quantization=_quantization)
_qconfigs = ["default_per_channel_qconfig", "default_dynamic_qconfig", "per_channel_dynamic_qconfig"]
quantization = types.SimpleNamespace(qconfig=types.SimpleNamespace(**dict.fromkeys(_qconfigs, "QConfig")))
