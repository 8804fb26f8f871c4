import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { bytesSource, readNpy, readNpz, writeNpy, writeNpz } from "../../internal/formats.mjs";
import {
  assertFileError,
  assertTensor,
  assertVerdict,
  collect,
  fuzzReader,
  openFully,
  property,
  tensorsOf,
  vectorsOf,
} from "../support/files/formats.mjs";

const vectors = vectorsOf("npy");
const isNpy = (name) => name.endsWith(".npy");
const reader = (name) => (isNpy(name) ? readNpy : readNpz);

/** dtypes of npy by numpy's code, without byte order. */
const DTYPES = {
  b1: "bool",
  i1: "int8",
  i2: "int16",
  i4: "int32",
  i8: "int64",
  u1: "uint8",
  u2: "uint16",
  u4: "uint32",
  u8: "uint64",
  f2: "float16",
  f4: "float32",
  f8: "float64",
  c8: "complex64",
  c16: "complex128",
};

/** Expected bytes where values are not decoded: complex numbers. */
function assertComplex(bytes, { c64, c128 }, message) {
  const expected = c64 ?? c128;
  if (expected !== undefined) assert.equal(btoa(String.fromCharCode(...bytes)), expected, message);
}

async function assertArray(tensor, { sha256: _file, ...expected }, message) {
  await assertTensor(tensor, expected, message);
  assert.equal(tensor.dtype, DTYPES[expected.dtype.slice(1)], message);
  assertComplex(await collect(tensor.bytes()), expected, message);
}

describe("readNpy", () => {
  for (const expected of vectors.cases.filter(({ file }) => isNpy(file))) {
    it(`reads ${expected.file}`, async () => {
      const { tensors } = await readNpy(vectors.source(expected.file));
      await assertArray(tensors.get("array"), expected, expected.file);
    });
  }

  for (const verdict of vectors.bad) {
    it(`${verdict.zeropoint}s ${verdict.file}: ${verdict.what}`, () =>
      assertVerdict(reader(verdict.file), vectors.badBytes(verdict.file), verdict));
  }

  it("reports unsupported parts of the format where the file itself is valid", async () => {
    for (const file of [
      "29-structured.npy",
      "30-object.npy",
      "31-string.npy",
      "34-longdouble.npy",
    ]) {
      await assert.rejects(
        readNpy(bytesSource(vectors.badBytes(file))),
        { code: "ZP_UNSUPPORTED_FILE" },
        file,
      );
    }
  });

  it("puts column-major arrays of several tiles in row-major order", async () => {
    // 2 x 1 x 3 x 1,000,003 values of 8 bytes: three tiles, and columns across the edges of chunks.
    const [a, b, c] = [2, 3, 1_000_003];
    const header =
      `{'descr': '<f8', 'fortran_order': True, 'shape': (${a}, 1, ${b}, ${c}), }`.padEnd(117);
    const values = new Float64Array(a * b * c);
    for (let k = 0, f = 0; k < c; k++) {
      for (let j = 0; j < b; j++) for (let i = 0; i < a; i++) values[f++] = (i * b + j) * c + k;
    }
    const head = [
      0x93,
      ...new TextEncoder().encode("NUMPY"),
      1,
      0,
      118,
      0,
      ...new TextEncoder().encode(`${header}\n`),
    ];
    const bytes = new Uint8Array(128 + values.byteLength);
    bytes.set(head);
    bytes.set(new Uint8Array(values.buffer), 128);
    const { tensors } = await readNpy(bytesSource(bytes));
    const read = new Float64Array((await collect(tensors.get("array").bytes())).buffer);
    assert.ok(read.every((value, i) => value === i));
  });

  const npy = {
    ...vectors,
    names: vectors.names.filter(isNpy),
    badNames: vectors.badNames.filter(isNpy),
  };
  fuzzReader(it, readNpy, npy);

  const token = fc.constantFrom(
    ..."{ } ( ) [ ] , : ' True False None 0 1 2 03 2.0 1e3 9007199254740993 2L -1 0x10".split(" "),
    ..."'descr' 'fortran_order' 'shape' '<f4' \"<f8\" '>i2' '|b1' '|O' 'f' \\ # \n".split(" "),
    "{'descr':'<f4','fortran_order':False,'shape':(",
    ")}",
  );
  property(
    it,
    "reads any header or refuses it",
    [fc.array(token, { maxLength: 24 }), fc.boolean()],
    async (tokens, isWhole) => {
      const text = isWhole
        ? `{'descr':'<f4','fortran_order':False,'shape':(${tokens.join("")})}\n`
        : tokens.join(" ");
      const body = new TextEncoder().encode(text);
      const bytes = new Uint8Array(10 + body.length + 64);
      bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, body.length & 255, body.length >> 8]);
      bytes.set(body, 10);
      await openFully(readNpy, bytes, text);
    },
  );
});

describe("readNpz", () => {
  for (const { file, members } of vectors.cases.filter(({ file }) => !isNpy(file))) {
    it(`reads ${file}`, async () => {
      const { tensors } = await readNpz(vectors.source(file));
      assert.deepEqual(
        [...tensors.keys()],
        members.map(({ name }) => name),
      );
      for (const expected of members)
        await assertArray(tensors.get(expected.name), expected, expected.name);
    });
  }

  it("lists members whose dtype it does not read, and refuses a file of these alone", async () => {
    const data = new Uint8Array(64);
    const open = async (names) => {
      const tensors = names.map((name) => {
        return { name, dtype: "float32", shape: [16], bytes: () => [data] };
      });
      const text = String.fromCharCode(...(await collect(writeNpz(tensors))));
      const at = text.lastIndexOf("<f4");
      const changed = `${text.slice(0, at)}<U1${text.slice(at + 3)}`;
      const bytes = Uint8Array.from(changed, (letter) => letter.charCodeAt(0));
      return readNpz(bytesSource(bytes));
    };
    const { tensors, unreadable } = await open(["weight", "labels"]);
    assert.deepEqual(
      [[...tensors.keys()], [...unreadable]],
      [["weight"], [["labels", 'of "<U1"']]],
    );
    await assert.rejects(open(["labels"]), {
      code: "ZP_UNSUPPORTED_FILE",
      message: /^readNpz: "labels\.npy": at byte 10: expected a dtype .*, found "<U1"$/,
    });
  });

  it("opens the other members where one is damaged, and names the damage", async () => {
    const data = new Uint8Array(64).fill(5);
    const names = ["a", "b", "c"];
    const tensors = names.map((name) => {
      return { name, dtype: "uint8", shape: [64], bytes: () => [data] };
    });
    /** Offsets of the entries of the directory, and of the local headers. */
    const entriesOf = (bytes, signature) => {
      const view = new DataView(bytes.buffer);
      const found = [];
      for (let at = 0; at < bytes.length - 4; at++)
        if (view.getUint32(at, true) === signature) found.push(at);
      return found;
    };
    const dataOf = (view, local) =>
      local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const damages = {
      "a local header of other bytes": (view, _, local) => view.setUint8(local + 1, 0),
      "a header of an array of other bytes": (view, _, local) =>
        view.setUint8(dataOf(view, local), 0),
      "deflated data of other bytes": (view, central, local) => {
        view.setUint16(central + 10, 8, true);
        view.setUint8(dataOf(view, local), 255);
      },
      "an offset behind the directory": (view, central) =>
        view.setUint32(central + 42, central, true),
      "an offset in the data of another member": (view, central, local) =>
        view.setUint32(central + 42, local - 3, true),
      "data that reach into the next member": (view, central) => {
        view.setUint32(central + 20, 250, true);
        view.setUint32(central + 24, 250, true);
      },
      "data that reach into the directory": (view, central) => {
        view.setUint32(central + 20, 5000, true);
        view.setUint32(central + 24, 5000, true);
      },
      "stored data of another size": (view, central) => view.setUint32(central + 24, 9, true),
      "fewer bytes than its header tells": (view, central) => {
        view.setUint32(central + 20, 140, true);
        view.setUint32(central + 24, 140, true);
      },
    };
    for (const [title, damage] of Object.entries(damages)) {
      const bytes = await collect(writeNpz(tensors));
      const view = new DataView(bytes.buffer);
      damage(view, entriesOf(bytes, 0x02014b50)[1], entriesOf(bytes, 0x04034b50)[1]);
      const found = await readNpz(bytesSource(bytes));
      assert.deepEqual([...found.tensors.keys()], ["a", "c"], title);
      assert.match(found.unreadable.get("b"), /^damaged: at byte \d+: expected .*, found /, title);
      for (const tensor of found.tensors.values())
        assert.deepEqual(await collect(tensor.bytes()), data, title);
    }
  });

  it("lists encrypted members and those of one name, and refuses a file of these alone", async () => {
    const tensorOf = (name) => {
      return { name, dtype: "uint8", shape: [1], bytes: () => [Uint8Array.of(7)] };
    };
    const change = async (names, byte, value) => {
      const bytes = await collect(writeNpz(names.map(tensorOf)));
      const text = String.fromCharCode(...bytes);
      bytes[text.lastIndexOf("PK\x01\x02") + byte] = value;
      return readNpz(bytesSource(bytes));
    };
    const encrypted = await change(["a", "b"], 8, 1);
    assert.deepEqual([...encrypted.tensors.keys()], ["a"]);
    assert.deepEqual([...encrypted.unreadable], [["b", "of encrypted data"]]);
    await assert.rejects(change(["b"], 8, 1), { code: "ZP_UNSUPPORTED_FILE" });
    const twice = await change(["a", "b", "c"], 46, "b".charCodeAt(0));
    assert.deepEqual([...twice.tensors.keys()], ["a"]);
    assert.deepEqual([...twice.unreadable], [["b", "the name of several members"]]);
    await assert.rejects(change(["b", "c"], 46, "b".charCodeAt(0)), { code: "ZP_INVALID_FILE" });
  });

  it("compares the checksum when a tensor is read to its end", async () => {
    const data = new Uint8Array(64).fill(5);
    const tensor = { name: "a", dtype: "uint8", shape: [64], bytes: () => [data] };
    for (const compressed of [false, true]) {
      const bytes = await collect(writeNpz([tensor], { compressed }));
      // Of the central directory's only entry: its checksum.
      bytes[bytes.length - 22 - 46 - 5 + 16] ^= 1;
      const { tensors } = await readNpz(bytesSource(bytes));
      await assert.rejects(collect(tensors.get("a").bytes()), (error) =>
        assertFileError(error, "crc").expected.startsWith("checksum"),
      );
    }
  });

  const npz = {
    ...vectors,
    names: vectors.names.filter((name) => !isNpy(name)),
    badNames: vectors.badNames.filter((name) => !isNpy(name)),
  };
  fuzzReader(it, readNpz, npz);
});

describe("writeNpy", () => {
  for (const file of [
    "version1",
    "zero-dim",
    "empty",
    "empty2",
    "one",
    "4d",
    "int8-n",
    "bool-n",
    "complex128-le",
    "float16-le",
  ]) {
    it(`writes the bytes of numpy: ${file}`, async () => {
      const bytes = vectors.bytes(`${file}.npy`);
      const { tensors } = await readNpy(bytesSource(bytes));
      assert.deepEqual(await collect(writeNpy(tensors.get("array"))), bytes);
    });
  }

  it("refuses dtypes that npy has not", async () => {
    const tensor = { name: "a", dtype: "bfloat16", shape: [1], bytes: () => [new Uint8Array(2)] };
    await assert.rejects(collect(writeNpy(tensor)), { code: "ZP_UNSUPPORTED_DTYPE" });
  });
});

describe("writeNpz", () => {
  const dtypes = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128"];
  property(
    it,
    "gives back what it wrote, stored and deflated",
    [tensorsOf(dtypes), fc.boolean()],
    async (tensors, compressed) => {
      const bytes = await collect(writeNpz(tensors, { compressed }));
      const read = await readNpz(bytesSource(bytes));
      assert.deepEqual(
        [...read.tensors.keys()],
        tensors.map(({ name }) => name),
      );
      for (const { name, dtype, shape, data } of tensors) {
        const tensor = read.tensors.get(name);
        assert.deepEqual([tensor.dtype, [...tensor.shape]], [dtype, shape]);
        assert.deepEqual(await collect(tensor.bytes()), data);
      }
    },
    50,
  );

  it("passes on the errors of tensors", async () => {
    for (const compressed of [false, true]) {
      const short = { name: "a", dtype: "float32", shape: [1], bytes: () => [new Uint8Array(3)] };
      await assert.rejects(collect(writeNpz([short], { compressed })), {
        code: "ZP_INVALID_BYTES",
      });
      await assert.rejects(collect(writeNpz([short, short], { compressed })), {
        code: "ZP_INVALID_OPTION",
      });
    }
  });
});
