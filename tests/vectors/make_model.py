#!/usr/bin/env python3
"""Makes model.json from a real PyTorch 1.13: models quantized in eager mode, from end to end.

    python3 make_model.py                   # writes model.json beside this script
    python3 make_model.py --fuzz N SEED     # prints N random cases

Needs torch 1.13 (Debian 12: python3-torch) on x86-64. Everything that is compared here is the same in
PyTorch 2.6; HistogramObserver, which is not, does not occur. The engine is qnnpack, whose dynamic
layers ignore reduce_range. Weights and calibration batches are multiples of powers of 2, small enough
that a float layer's sums are exact in whatever order they are added up.
Encodings: see README.md.
"""
import base64
import json
import os
import random
import sys
import warnings

os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
warnings.simplefilter("ignore")
import numpy as np
import torch
import torch.ao.quantization as tq
from torch import nn

torch.set_num_threads(1)
torch.set_grad_enabled(False)
torch.backends.quantized.engine = "qnnpack"
HERE = os.path.dirname(os.path.abspath(__file__))
OBSERVERS = {
    name: getattr(tq, name)
    for name in ["MinMaxObserver", "MovingAverageMinMaxObserver", "PerChannelMinMaxObserver"]
}


def encode(t):
    """A tensor, in row-major order."""
    values = t.detach().contiguous().numpy()
    name = str(t.dtype).split(".")[1]
    if name != "float32":
        return {"t": name, "shape": list(t.shape), "data": values.ravel().tolist()}
    return {"t": "f32", "shape": list(t.shape), "b64": base64.b64encode(values.tobytes()).decode()}


class Maker:
    """Random cases."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.values = np.random.default_rng(seed)

    def exact(self, shape, bits, step):
        most = 2**bits
        return torch.tensor((self.values.integers(-most, most + 1, shape) * step).astype("f4"))

    def real(self, shape):
        size = 10 ** self.rng.uniform(-3, 2)
        shift = self.rng.choice([0, 0, 0, 2 * size, -3 * size])
        return torch.tensor((self.values.standard_normal(shape) * size + shift).astype("f4"))

    def activation(self):
        rng = self.rng
        name = rng.choice(["MinMaxObserver", "MovingAverageMinMaxObserver"])
        options = {}
        if name.startswith("Moving"):
            # Not 1: PyTorch takes such an observer for one of a dynamic layer, and shows it the input.
            options["averaging_constant"] = rng.choice([0.01, 0.1, 0.5])
        if rng.random() < 0.4:
            options["reduce_range"] = True
        elif rng.random() < 0.2:
            options["qscheme"] = "per_tensor_symmetric"
        if rng.random() < 0.3:
            options["quant_min"], options["quant_max"] = rng.choice([(0, 127), (0, 100), (0, 15)])
        if rng.random() < 0.2:
            options["eps"] = rng.choice([2**-12, 0.01])
        return {"observer": name, "options": options}

    def weight(self):
        rng = self.rng
        per_channel = rng.random() < 0.5
        options = {"dtype": "qint8"}
        options["qscheme"] = "per_channel_symmetric" if per_channel else "per_tensor_symmetric"
        if rng.random() < 0.3:
            options["quant_min"], options["quant_max"] = rng.choice([(-127, 127), (-64, 63)])
        if rng.random() < 0.3:
            options["reduce_range"] = True
        return {
            "observer": "PerChannelMinMaxObserver" if per_channel else "MinMaxObserver",
            "options": options,
        }

    def layers(self, features, is_exact):
        """Linear layers, as [weight, bias or None], and ReLUs, as []."""
        rng, layers = self.rng, []
        for _ in range(rng.randint(1, 3)):
            outputs = rng.randint(1, 7)
            shape = (outputs, features)
            if is_exact:
                weight = self.exact(shape, 4, 2.0 ** -rng.randint(2, 6))
                bias = self.exact(outputs, 5, 2.0 ** -rng.randint(3, 8))
            else:
                weight, bias = self.real(shape), self.real(outputs)
            layers.append([weight, bias if rng.random() < 0.7 else None])
            layers += [[]] * rng.choice([0, 1, 1, 2])
            features = outputs
        return layers

    def static(self):
        rng = self.rng
        features = rng.randint(1, 7)
        layers = self.layers(features, True)
        fuse = rng.random() < 0.5
        qconfig = {"activation": self.activation(), "weight": self.weight()}
        inside = modules(layers)
        pairs = [i for i in range(len(layers) - 1) if layers[i] and not layers[i + 1]]
        if fuse and pairs:
            inside = tq.fuse_modules(inside, [[str(i), str(i + 1)] for i in pairs])
        model = nn.Sequential(tq.QuantStub(), inside, tq.DeQuantStub()).eval()
        model.qconfig = tq.QConfig(factory(qconfig["activation"]), factory(qconfig["weight"]))
        prepared = tq.prepare(model)
        step = 2.0 ** -rng.randint(2, 5)
        batches = [self.exact((rng.randint(1, 3), features), 5, step) for _ in range(rng.randint(1, 3))]
        for batch in batches:
            prepared(batch)
        observers = {"input": prepared[0].activation_post_process}
        for i, layer in enumerate(layers):
            if layer:
                observers[str(i)] = prepared[1][i].activation_post_process
        converted = tq.convert(prepared)
        x = self.real((rng.randint(1, 3), features))
        weights = {str(i): converted[1][i].weight() for i, layer in enumerate(layers) if layer}
        return {
            "op": "static",
            "in": {
                "layers": encode_layers(layers),
                "fuse": fuse,
                "qconfig": qconfig,
                "batches": [encode(batch) for batch in batches],
                "x": encode(x),
            },
            "out": {
                "observers": {name: state(observer) for name, observer in observers.items()},
                "weights": {name: encode(weight.int_repr()) for name, weight in weights.items()},
                "y": encode(converted(x)),
            },
        }

    def dynamic(self):
        features = self.rng.randint(1, 9)
        layers = self.layers(features, False)
        name = self.rng.choice(["default_dynamic_qconfig", "per_channel_dynamic_qconfig"])
        converted = tq.quantize_dynamic(modules(layers), {nn.Linear: getattr(tq, name)})
        x = self.real(self.rng.choice([(3, features), (1, features), (2, 2, features)]))
        return {
            "op": "dynamic",
            "in": {"layers": encode_layers(layers), "qconfig": name, "x": encode(x)},
            "out": {"y": encode(converted(x)), "repr": repr(converted)},
        }

    def embedding(self):
        rng = self.rng
        bits = rng.choice([4, 8])
        weight = self.real((rng.randint(1, 6), 2 * rng.randint(1, 4)))
        if rng.random() < 0.3:
            weight[0] = rng.choice([0.0, 5.0, 1e-9])
        if rng.random() < 0.3:
            weight *= 10.0 ** rng.randint(-9, 5)
        name = "float_qparams_weight_only_qconfig" + ("_4bit" if bits == 4 else "")
        observer = getattr(tq, name).weight()
        observer(weight)
        scales, zero_points = observer.calculate_qparams()
        dtype = torch.quint4x2 if bits == 4 else torch.quint8
        q = torch.quantize_per_channel(weight, scales, zero_points, 0, dtype)
        packed = torch.ops.quantized.embedding_bag_prepack(q)
        indices = torch.tensor(self.values.integers(0, len(weight), 4))
        ops = torch.ops.quantized
        y = (ops.embedding_4bit if bits == 4 else ops.embedding_byte)(packed, indices)
        return {
            "op": "embedding",
            "in": {"weight": encode(weight), "qconfig": name, "indices": encode(indices)},
            "out": {"y": encode(y)},
        }

    def case(self, number):
        made = [self.static, self.static, self.dynamic, self.embedding][number % 4]()
        return {"id": "model/%04d" % number, **made}


def factory(spec):
    options = {
        name: getattr(torch, value) if isinstance(value, str) else value
        for name, value in spec["options"].items()
    }
    return OBSERVERS[spec["observer"]].with_args(**options)


def modules(layers):
    made = []
    for layer in layers:
        if not layer:
            made.append(nn.ReLU())
            continue
        weight, bias = layer
        linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
        linear.weight.data = weight
        if bias is not None:
            linear.bias.data = bias
        made.append(linear)
    return nn.Sequential(*made).eval()


def encode_layers(layers):
    return [[None if t is None else encode(t) for t in layer] for layer in layers]


def state(observer):
    scale, zero_point = observer.calculate_qparams()
    values = [observer.min_val, observer.max_val, scale]
    return [encode(value.reshape(1)) for value in values] + [int(zero_point)]


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--fuzz":
        maker = Maker(int(sys.argv[3]))
        for number in range(int(sys.argv[2])):
            print(json.dumps(maker.case(number)))
        return
    maker = Maker(1)
    lines = [json.dumps(maker.case(n), separators=(",", ":")) for n in range(60)]
    about = json.dumps("models quantized in eager mode: observers, weights, outputs (qnnpack)")
    with open(os.path.join(HERE, "model.json"), "w") as f:
        meta = json.dumps({"torch": torch.__version__, "numpy": np.__version__})
        f.write('{"meta":%s,"about":%s,"cases":[\n' % (meta, about))
        f.write(",\n".join(lines) + "\n]}\n")
    print("model %5d cases" % len(lines))


if __name__ == "__main__":
    main()
