#!/usr/bin/env python3
"""Makes onnx_nodes.json: ONNX's own node tests of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.

    python3 make_onnx_nodes.py FOLDER       # writes onnx_nodes.json beside this script

FOLDER is usr/share/libonnx-testdata/data/node of Debian's libonnx-testdata. Needs Python alone: the files
are read by a decoder of the few protobuf fields that they have. Encodings: see README.md; codes of
4 and 2 bits are one number each, float8 and float4 their bit patterns.
"""
import base64
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OPS = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
# TensorProto.DataType: name here, bits, struct's letter, signed
DTYPES = {
    1: ("f32", 32, "f"),
    2: ("uint8", 8, "B"),
    3: ("int8", 8, "b"),
    4: ("uint16", 16, "H"),
    5: ("int16", 16, "h"),
    6: ("int32", 32, "i"),
    10: ("float16", 16, "H"),
    16: ("bfloat16", 16, "H"),
    17: ("float8_e4m3fn", 8, "B"),
    19: ("float8_e5m2", 8, "B"),
    21: ("uint4", 4, None),
    22: ("int4", 4, None),
    23: ("float4_e2m1", 4, None),
    25: ("uint2", 2, None),
    26: ("int2", 2, None),
}


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """A message's fields: {number: [values]}; numbers, or bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        elif kind == 5:
            value, at = data[at : at + 4], at + 4
        else:
            raise ValueError(f"wire type {kind}")
        found.setdefault(key >> 3, []).append(value)
    return found


def numbers(values):
    """Repeated integers, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(number)
    return [value - (1 << 64) if value >> 63 else value for value in out]


def tensor(data):
    message = fields(data)
    shape = numbers(message.get(1, []))
    name, bits, letter = DTYPES[message[2][0]]
    count = 1
    for length in shape:
        count *= length
    if 9 in message:
        raw = message[9][0]
    elif 4 in message:
        raw = b"".join(message[4])
    else:
        # int32_data holds whole bytes of packed codes, too.
        stored = numbers(message.get(5, []))
        size = max(bits, 8) // 8
        raw = b"".join((value & ((1 << 8 * size) - 1)).to_bytes(size, "little") for value in stored)
    if letter is not None:
        values = list(struct.unpack(f"<{count}{letter}", raw))
    else:
        per_byte = 8 // bits
        values = [raw[i // per_byte] >> i % per_byte * bits & ((1 << bits) - 1) for i in range(count)]
        if name.startswith("int"):
            values = [value - (1 << bits) if value >> (bits - 1) else value for value in values]
    if name == "f32":
        return {"t": name, "shape": shape, "b64": base64.b64encode(raw).decode(), "dec": values}
    return {"t": name, "shape": shape, "data": values}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def case(folder, name):
    graph = fields(fields(read(os.path.join(folder, name, "model.onnx")))[7][0])
    if len(graph[1]) != 1:
        return None
    node = fields(graph[1][0])
    op = node[4][0].decode()
    if op not in OPS:
        return None
    attributes = {}
    for each in node.get(5, []):
        attribute = fields(each)
        attributes[attribute[1][0].decode()] = numbers(attribute[3])[0]
    data = os.path.join(folder, name, "test_data_set_0")
    tensors = {
        kind: [tensor(read(os.path.join(data, f"{kind}_{i}.pb"))) for i in range(len(node[field]))]
        for kind, field in (("input", 1), ("output", 2))
    }
    return {"id": name, "op": op, "attributes": attributes, "in": tensors["input"], "out": tensors["output"]}


def main():
    folder = sys.argv[1]
    named = sorted(name for name in os.listdir(folder) if "quantizelinear" in name)
    cases = [each for each in (case(folder, name) for name in named) if each is not None]
    about = "ONNX's node tests of " + ", ".join(OPS)
    out = {"meta": {"package": "libonnx-testdata 1.20.0-6 (Debian)"}, "about": about, "cases": cases}
    with open(os.path.join(HERE, "onnx_nodes.json"), "w", encoding="utf-8") as file:
        lines = ",\n".join("  " + json.dumps(each) for each in cases)
        file.write(f'{{"meta": {json.dumps(out["meta"])},\n "about": {json.dumps(about)},\n "cases": [\n{lines}\n]}}\n')


main()
