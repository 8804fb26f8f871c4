// The command line with damaged JSON files: plans, rows, journals and done-files. Each is read, or refused in one line
// with an exit code; no run of a job leaves bytes that are not the job's.

import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import fc from "fast-check";
import { describeError, EXIT, importCommand, Journal } from "../../internal/cli.mjs";
import { Random } from "../support/asserts.mjs";
import { effort } from "../support/effort.mjs";
import { property } from "../support/files/formats.mjs";
import {
  leave,
  makeFolder,
  safetensors,
  weights,
  write,
  zeropoint,
} from "../support/processes/cli.mjs";

const COMMANDS = ["plan", "quantize", "finish"];
const runs = {};
const folder = makeFolder();
const at = (...names) => join(folder, ...names);
const readJson = (...names) => JSON.parse(readFileSync(at(...names), "utf8"));

/** Runs a command in this process, without its remarks. @returns its exit code, and the line of a failure */
async function command(name, ...args) {
  const writeError = process.stderr.write;
  process.stderr.write = () => true;
  try {
    const code = await runs[name]([...args, "--quiet"], new AbortController().signal);
    return { code, line: "" };
  } catch (error) {
    const found = describeError(error);
    // A bug shows its stack.
    if (found.code === EXIT.bug) throw error;
    return found;
  } finally {
    process.stderr.write = writeError;
  }
}

// ---- damage

const NAMES = ["__proto__", "constructor", "toString", "name", "schemes", "rows", "length", ""];
const values = fc.oneof(
  fc.constantFrom(null, true, 0, -1, 0.5, 1e300, 2 ** 53, "", "\u001b[2J", "../../x", "NaN", "[]"),
  fc.constantFrom(...NAMES),
  fc.anything({ maxDepth: 2, withNullPrototype: false, key: fc.constantFrom(...NAMES) }),
);
const edits = fc.array(
  fc.record({
    at: fc.nat(),
    kind: fc.constantFrom("replace", "replace", "remove", "copy", "rename"),
    value: values,
    name: fc.constantFrom(...NAMES),
  }),
  { minLength: 1, maxLength: 3 },
);

const FIELD = { enumerable: true, writable: true, configurable: true };

/** All objects and arrays of a value, each with its keys. */
function placesOf(value) {
  if (typeof value !== "object" || value === null) return [];
  const own = Object.keys(value).map((key) => [value, key]);
  return [...own, ...Object.values(value).flatMap(placesOf)];
}

/** The text of JSON with some of its fields changed. */
function damagedJson(json, list) {
  const all = { all: structuredClone(json) };
  for (const { at: position, kind, value, name } of list) {
    const places = placesOf(all);
    if (places.length === 0) break;
    const [holder, key] = places[position % places.length];
    if (kind === "replace") Object.defineProperty(holder, key, { value, ...FIELD });
    else if (kind === "remove") delete holder[key];
    else if (kind === "copy" && Array.isArray(holder)) holder.push(holder[key]);
    else if (!Array.isArray(holder))
      Object.defineProperty(holder, name, { value: holder[key], ...FIELD });
  }
  const text = JSON.stringify(all.all, (_, each) => (typeof each === "bigint" ? `${each}` : each));
  return text ?? "";
}

/** The text with a part of it cut off or replaced. */
const damagedText = (text, { start, length, by }) => {
  const from = start % (text.length + 1);
  return text.slice(0, from) + by + text.slice(from + length);
};
const cuts = fc.record({
  start: fc.nat(),
  length: fc.oneof(fc.nat(3), fc.constant(2 ** 30)),
  by: fc.oneof(
    fc.constantFrom("", "{", "]", '"', "\0", "\ufeff", "\n"),
    fc.string({ maxLength: 3 }),
  ),
});
const damages = fc.oneof(
  { weight: 4, arbitrary: edits.map((list) => (json) => damagedJson(json, list)) },
  { weight: 1, arbitrary: cuts.map((cut) => (json) => damagedText(JSON.stringify(json), cut)) },
);

// ---- files

let plan;
let rows;
let done;
const SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
const SCHEMES = { "a.weight": "int8-channel", "b.weight": "int4-g32" };

before(async () => {
  for (const name of COMMANDS) ({ run: runs[name] } = await importCommand(name));
  const random = new Random(37);
  const shards = ["a.weight", "b.weight"].map((name) => ({ [name]: weights(random, [8, 32]) }));
  for (const [i, name] of SHARDS.entries())
    write(folder, { [`model/${name}`]: await safetensors(shards[i]) });
  write(folder, {
    "model/model.safetensors.index.json": JSON.stringify({
      metadata: {},
      weight_map: { "a.weight": SHARDS[0], "b.weight": SHARDS[1] },
    }),
    "plan.json": JSON.stringify({ version: 1, schemes: SCHEMES }),
  });
  const few = ["--schemes", "int8-channel,int4-g32", "--threads", "1"];
  for (const args of [
    ["analyze", "model", ...few, "-o", "rows.json", "--json"],
    ["plan", "rows.json", "--size", "80%", "-o", "made.json"],
    ["quantize", "model", "--plan", "plan.json", "-o", "whole", "--threads", "1"],
  ]) {
    const { code, stderr } = zeropoint(folder, args);
    assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  }
  plan = readJson("made.json");
  rows = readJson("rows.json");
  done = readJson("whole", ".zeropoint", `${SHARDS[0]}.done.json`);
});

const bytesOf = (name) => readFileSync(at(name, SHARDS[0])).toString("base64");

describe("the command line", () => {
  property(
    it,
    "makes plans of damaged rows, or refuses them",
    [damages, fc.constantFrom("50%", "4 bits", "1 kB", "layers")],
    async (damage, size) => {
      writeFileSync(at("damaged.json"), damage(rows));
      rmSync(at("planned.json"), { force: true });
      const aim = size === "layers" ? ["--min-sqnr", "20"] : ["--size", size];
      const { code } = await command("plan", at("damaged.json"), ...aim, "-o", at("planned.json"));
      if (code === EXIT.ok) assert.equal(typeof readJson("planned.json").schemes, "object");
    },
    effort(1000),
  );

  property(
    it,
    "makes plans of a folder with damaged rows, or refuses them",
    [damages],
    async (damage) => {
      write(folder, {
        "rows/a.rows.json": damage({ ...rows, source: { name: "a", of: ["a", "b"] } }),
      });
      write(folder, {
        "rows/b.rows.json": JSON.stringify({ ...rows, source: { name: "b", of: ["a", "b"] } }),
      });
      await command("plan", at("rows"), "--size", "60%", "-o", at("planned.json"), "--force");
    },
    effort(1000),
  );

  property(
    it,
    "quantizes by a damaged plan, or refuses it",
    [damages, fc.boolean()],
    async (damage, isMade) => {
      writeFileSync(at("damaged.json"), damage(isMade ? plan : { version: 1, schemes: SCHEMES }));
      const args = [
        at("model"),
        "--plan",
        at("damaged.json"),
        "-o",
        at("quantized"),
        "--threads",
        "1",
      ];
      rmSync(at("quantized"), { recursive: true, force: true });
      const { code } = await command("quantize", ...args);
      // The same order again finds its files as they are.
      if (code === EXIT.ok) assert.equal((await command("quantize", ...args)).code, EXIT.ok);
    },
    effort(300),
  );

  property(
    it,
    "leaves the bytes of a job whatever its done-file says",
    [damages, fc.boolean()],
    async (damage, isFinish) => {
      rmSync(at("again"), { recursive: true, force: true });
      cpSync(at("whole"), at("again"), { recursive: true });
      writeFileSync(at("again", ".zeropoint", `${SHARDS[0]}.done.json`), damage(done));
      const how = ["--plan", at("plan.json"), "--threads", "1"];
      if (isFinish)
        await command("finish", at("again"), ...how, "--source", at("model"), "--force");
      else await command("quantize", at("model"), ...how, "-o", at("again"));
      assert.equal(bytesOf("again"), bytesOf("whole"));
    },
    effort(300),
  );

  property(
    it,
    "continues an analysis with the whole rows of a damaged journal",
    [damages],
    async (damage) => {
      rmSync(at("journal"), { recursive: true, force: true });
      const journal = new Journal(at("journal", "rows.json"), "key");
      const { signal } = new AbortController();
      await journal.open(signal);
      for (const row of rows.rows) await journal.add(row);
      await journal.keep();
      await journal.close();
      const name = readdirSync(at("journal")).find((each) => !each.endsWith(".sum.partial"));
      const lines = readFileSync(at("journal", name), "utf8").split("\n");
      lines[1] = damage(JSON.parse(lines[1])).replaceAll("\n", " ");
      // With the record of these bytes: others are not read at all.
      leave(at("journal", name), Buffer.from(lines.join("\n")));
      const again = new Journal(at("journal", "rows.json"), "key");
      const found = await again.open(signal);
      await again.close();
      const first = JSON.parse(lines[0]);
      assert.deepEqual(
        found.slice(0, first.length).map(({ name: each }) => each),
        first.map(({ name: each }) => each),
      );
      for (const row of found) assert.equal(typeof row.name, "string");
    },
    effort(300),
  );
});
