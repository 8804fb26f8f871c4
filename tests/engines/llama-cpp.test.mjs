// llama.cpp of Debian sid, which is unpacked beside the system: llama-quantize writes the same bytes as quantizeModel, and llama-completion runs them.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { init } from "zeropoint";
import { openModel, verify } from "zeropoint/models";
import { bytesSource, readGGUF } from "../internal/formats.mjs";
import { makeImatrix, makeLlama } from "../js/support/files/llama.mjs";
import { provideLlamaCpp } from "./debian-llama-cpp.mjs";
import { MODELS, quantize, TYPES } from "./llama-models.mjs";

await init();

const llama = await provideLlamaCpp();
const folder = mkdtempSync(join(tmpdir(), "zeropoint-llama.cpp-"));
after(() => rmSync(folder, { recursive: true }));

describe("llama.cpp", { skip: llama === undefined && "Debian's packages are needed" }, () => {
  for (const [name, settings] of Object.entries(MODELS)) {
    it(`writes the files of quantizeModel byte for byte, or refuses them too: ${name}`, () =>
      compareBytes(name, settings));
  }

  for (const [name, settings] of Object.entries(MODELS)) {
    it(`writes the same bytes with types of embeddings and output: ${name}`, () =>
      compareTensorTypes(name, settings));
  }

  for (const type of [...TYPES.split(" ").filter((each) => each !== "Q2_K_S")]) {
    it(`runs a file of type ${type}`, async () => {
      await runFile(await quantize(await makeLlama({ layers: 2, kv: 2, seed: 21 }), type));
    });
  }

  it("runs a file with a dtype for each tensor", async () => {
    const model = await makeLlama({ layers: 2, kv: 2, seed: 21 });
    await runFile(
      await quantize(model, ({ name }) => (name.includes("ffn") ? "q4_k" : "bfloat16")),
    );
  });

  it("runs a file of alignment 64, of which llama-quantize writes one that does not load", async () => {
    const model = await makeLlama({ d: 96, ff: 96, heads: 3, kv: 3, alignment: 64 });
    await runFile(await quantize(model, "Q5_0"));
  });
});

/** Options of llama-quantize for single tensors. */
const TENSOR_TYPES = [
  ["--token-embedding-type", "q8_0"],
  ["--output-tensor-type", "q4_0"],
  ["--token-embedding-type", "f16", "--output-tensor-type", "q5_1"],
  ["--pure", "--token-embedding-type", "q5_0", "--output-tensor-type", "bf16"],
  ["--pure", "--output-tensor-type", "q8_0"],
  ["--tensor-type", "ATTN_V=q8_0", "--tensor-type", "attn_.*=q5_0", "--tensor-type", "down=f16"],
  ["--tensor-type", "blk.0=q6_k", "--token-embedding-type", "q8_0"],
  ["--pure", "--tensor-type", "(ffn_up|output)=q5_k"],
];

/** Compares files in which the token embeddings, the output or both have a type of their own. */
async function compareTensorTypes(name, settings) {
  const out = join(folder, "out.gguf");
  const model = await makeLlama(settings);
  writeFileSync(join(folder, "model.gguf"), model);
  let equal = 0;
  for (const type of ["Q4_K_M", "Q8_0", "F16", "MXFP4_MOE", "COPY"]) {
    for (const given of TENSOR_TYPES) {
      rmSync(out, { force: true });
      const args = [...given, "model.gguf", "out.gguf", type, "1"];
      const { ok } = llama("llama-quantize", args, folder);
      const typeOf = (option) => given[given.indexOf(option) + 1 || given.length];
      const ours = quantize(model, type, {
        pure: given.includes("--pure"),
        tokenEmbeddingType: typeOf("--token-embedding-type"),
        outputTensorType: typeOf("--output-tensor-type"),
        tensorTypes: Object.fromEntries(
          given.flatMap((option, i) =>
            option === "--tensor-type" ? [given[i + 1].split("=")] : [],
          ),
        ),
      });
      const label = `${name}: ${args.join(" ")}`;
      if (ok && existsSync(out)) {
        assert.ok(readFileSync(out).equals(await ours), `${label}: other bytes`);
        equal++;
      } else {
        await assert.rejects(ours, RangeError, `${label}: refused by llama-quantize only`);
      }
    }
  }
  assert.ok(equal > 15, `${name}: ${equal} files`);
}

/** Compares the files of every type, with and without pure and imatrix. */
async function compareBytes(name, settings) {
  const out = join(folder, "out.gguf");
  const model = await makeLlama(settings);
  const imatrix = await makeImatrix(settings);
  writeFileSync(join(folder, "model.gguf"), model);
  writeFileSync(join(folder, "imatrix.gguf"), imatrix);
  let equal = 0;
  for (const type of TYPES.split(" ")) {
    for (const pure of [false, true]) {
      for (const useImatrix of [false, true]) {
        rmSync(out, { force: true });
        const options = [
          ...(pure ? ["--pure"] : []),
          ...(useImatrix ? ["--imatrix", "imatrix.gguf"] : []),
        ];
        const args = [...options, "model.gguf", "out.gguf", type, "1"];
        const { ok } = llama("llama-quantize", args, folder);
        const label = `${name}: ${args.join(" ")}`;
        const ours = quantize(model, type, { pure, imatrix: useImatrix ? imatrix : undefined });
        if (ok && existsSync(out)) {
          const bytes = readFileSync(out);
          assert.ok(bytes.equals(await ours), `${label}: other bytes`);
          // A bit of one in four files is flipped, as deriving takes as long as quantizing.
          const matrix = useImatrix ? imatrix : undefined;
          await verifyFile(bytes, model, matrix, label, equal % 4 === 0);
          equal++;
        } else {
          await assert.rejects(ours, RangeError, `${label}: refused by llama-quantize only`);
        }
      }
    }
  }
  assert.ok(equal > 90, `${name}: ${equal} files`);
}

/** Derives a file of llama-quantize again from its source, then the same file with a flipped bit. */
async function verifyFile(bytes, source, imatrix, label, isFlipped) {
  const from = await openModel(source);
  const given = await verify(await openModel(bytes), from, { imatrix });
  assert.deepEqual([given.different, given.ties, given.equal], [[], 0, given.tensors], label);
  if (!isFlipped) return;
  const tensors = [...(await readGGUF(bytesSource(bytes))).tensors.values()];
  const { name, span, byteLength } = tensors[bytes.length % tensors.length];
  const wrong = Uint8Array.from(bytes);
  wrong[span.offset + (byteLength >> 1)] ^= 4;
  const { different } = await verify(await openModel(wrong), from, { imatrix });
  assert.deepEqual(
    different.map((each) => [each.name, each.bytes]),
    [[name, 1]],
    `${label}: a flipped bit`,
  );
}

/** Loads a file and decodes four tokens. */
async function runFile(bytes) {
  writeFileSync(join(folder, "run.gguf"), bytes);
  const settings = "-p ab -n 4 --temp 0 -no-cnv -t 1 -c 32 --no-warmup".split(" ");
  const { ok, stderr } = llama("llama-completion", ["-m", "run.gguf", ...settings], folder);
  assert.ok(ok, stderr.slice(-500));
}
