#!/usr/bin/env python3
"""Weights of float8 and float4 with scales, and their values, computed with PyTorch's types.

    python3 make_float_layouts.py > float-layouts.json

A scale is brought to the shape of the codes. The expressions are those of the readers named below:

compressed-tensors (float-quantized, naive-quantized; mxfp8-, mxfp4-, nvfp4-pack-quantized), _dequantize:
    scale = scale / global_scale if there is one;  value = codes.to(scale.dtype) * scale;  nvfp4, mxfp4: .to(bfloat16)
DeepSeek, weight_dequant:  value = codes.to(float32) * weight_scale_inv
ModelOpt, NVFP4QTensor.dequantize:  value = codes * (weight_scale.to(float32) * weight_scale_2)
"""
import base64, json
import torch

torch.manual_seed(23)
NAMES = {
    torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int8: "I8", torch.uint8: "U8",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def stored(t):
    data = t.contiguous().view(torch.uint8).numpy().tobytes() if t.ndim else t.reshape(1).view(torch.uint8).numpy().tobytes()
    return {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data": base64.b64encode(data).decode()}


def spread(scale, shape, rows, columns):
    """Scales of blocks as one scale a value."""
    return scale.repeat_interleave(rows, 0).repeat_interleave(columns, 1)[: shape[0], : shape[1]]


def case(name, config, tensors, decoded):
    return {"name": name, "config": config, "tensors": {k: stored(t) for k, t in tensors.items()}, "decoded": stored(decoded.to(torch.float32))}


def codes(dtype, *shape):
    """All finite codes, in random order."""
    every = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(dtype)
    every = every[torch.isfinite(every.to(torch.float32))]
    return every[torch.randint(len(every), shape)]


def scales(dtype, *shape):
    return (torch.randn(shape).abs() / 50 + 1e-3).to(dtype)


def compressed(**weights):
    return {"quant_method": "compressed-tensors", "version": "0.18.0", "config_groups": {"group_0": {"weights": weights}}}


out = []
e4m3, e5m2 = torch.float8_e4m3fn, torch.float8_e5m2
for label, dtype, type_, shape in (
    ("per tensor", e4m3, torch.float32, (1,)), ("per tensor, a number", e5m2, torch.float32, ()),
    ("per channel", e4m3, torch.bfloat16, (5, 1)), ("per channel", e5m2, torch.float16, (5, 1)),
):
    q, s = codes(dtype, 5, 33), scales(type_, *shape)
    out.append(case(f"{NAMES[dtype]} {label}, {NAMES[type_]}", compressed(num_bits=8, type="float"), {"weight": q, "weight_scale": s}, q.to(type_) * s))
q, s = codes(e4m3, 3, 64), scales(torch.bfloat16, 3, 4)
out.append(case("F8_E4M3 groups of 16", compressed(num_bits=8, type="float"), {"weight": q, "weight_scale": s}, q.to(s.dtype) * spread(s, q.shape, 1, 16)))
for shape, block, given in (((40, 70), (16, 32), True), ((32, 64), (8, 16), False), ((129, 3), (128, 128), False), ((33, 5), (32, 128), True)):
    q = codes(e4m3, *shape)
    s = scales(torch.float32, -(-shape[0] // block[0]), -(-shape[1] // block[1]))
    config = {"quant_method": "fp8", **({"weight_block_size": list(block)} if given else {})}
    out.append(case(f"F8_E4M3 blocks of {block[0]} x {block[1]} in {shape[0]} x {shape[1]}", config, {"weight": q, "weight_scale_inv": s}, q.to(torch.float32) * spread(s, shape, *block)))
q, s = codes(e4m3, 40, 70), scales(torch.bfloat16, 3, 3)
out.append(case("F8_E4M3 blocks of 16 x 32, BF16", compressed(num_bits=8, type="float", strategy="block", block_structure=[16, 32]), {"weight": q, "weight_scale": s}, q.to(s.dtype) * spread(s, q.shape, 16, 32)))
q, s = torch.randint(-128, 128, (40, 70)).to(torch.int8), scales(torch.float32, 3, 3)
out.append(case("I8 blocks of 16 x 32", {"quant_method": "int8", "weight_block_size": [16, 32]}, {"weight": q, "weight_scale_inv": s}, q.to(torch.float32) * spread(s, q.shape, 16, 32)))
q, e = codes(e4m3, 4, 96), torch.randint(100, 140, (4, 3)).to(torch.uint8)
s = 2.0 ** (e.to(torch.int32) - 127).to(torch.bfloat16)
out.append(case("mxfp8", compressed(num_bits=8, type="float", group_size=32), {"weight": q, "weight_scale": e}, q.to(s.dtype) * spread(s, q.shape, 1, 32)))
p = torch.randint(256, (4, 32)).to(torch.uint8)
x = E2M1[torch.stack((p & 15, p >> 4), -1).reshape(4, 64).long()]
s, g = codes(e4m3, 4, 4).to(torch.float32).abs().to(e4m3), torch.tensor([771.25])
whole = s.to(torch.bfloat16) / g
out.append(case("nvfp4", compressed(num_bits=4, type="float", group_size=16), {"weight_packed": p, "weight_scale": s, "weight_global_scale": g}, (x * spread(whole, x.shape, 1, 16)).to(torch.bfloat16)))
g = torch.tensor(0.00123)
out.append(case("nvfp4 of ModelOpt", {"quant_method": "modelopt"}, {"weight": p, "weight_scale": s, "weight_scale_2": g}, x * spread(s.to(torch.float32) * g, x.shape, 1, 16)))
e = torch.randint(100, 140, (4, 2)).to(torch.uint8)
s = 2.0 ** (e.to(torch.int32) - 127).to(torch.bfloat16)
out.append(case("mxfp4", compressed(num_bits=4, type="float", group_size=32), {"weight_packed": p, "weight_scale": e}, x.to(s.dtype) * spread(s, x.shape, 1, 32)))
print(json.dumps({"meta": {"torch": torch.__version__}})[:-1] + ',"cases":[\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in out) + "\n]}")
