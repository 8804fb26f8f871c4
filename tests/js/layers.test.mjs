// The folders of src/js form a staircase: imports, also of types, point to a lower step or stay in their folder,
// and no files import each other in a circle. So do the folders of src/js/models and of web. Tests import the public entries of
// the package, and tests/internal.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { it } from "node:test";

/** From the bottom up. Folders of one step do not import each other; "" is src/js itself. */
const STEPS =
  "wasm, base, core, tensor, torch formats, quantize, observers linear, nn search, models, , worker cli notebook"
    .split(", ")
    .map((rooms) => rooms.split(" "));

const folder = new URL("../../src/js/", import.meta.url);
const roomOf = (file) => (file.includes("/") ? file.split("/")[0] : "");
const stepOf = (file) => STEPS.findIndex((rooms) => rooms.includes(roomOf(file)));
const files = readdirSync(folder, { recursive: true })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".ts"));
const importsOf = (file) =>
  [
    ...readFileSync(new URL(file, folder), "utf8").matchAll(/(?:from|import\() ?"(\.[^"]+)\.js"/g),
  ].map(([, path]) => posix.join(posix.dirname(file), `${path}.ts`));
const imports = new Map(files.map((file) => [file, importsOf(file)]));

it("every import of src/js points to a lower step, or stays in its room", () => {
  const isLower = (file, other) => stepOf(other) >= 0 && stepOf(other) < stepOf(file);
  const others = files.flatMap((file) =>
    imports
      .get(file)
      .filter((other) => roomOf(other) !== roomOf(file) && !isLower(file, other))
      .map((other) => `${file} imports ${other}`),
  );
  assert.deepEqual(others, []);
});

/** The folders of a room, from the bottom up. Folders of one step do not import each other. */
const FOLDERS = {
  "src/js/models":
    "structure, stored, open, weights save plan, quantize, inputs compare, analyze, verify",
  web: "shell, digits figures measure, search notebook, playground, lab",
};

/** Imports between folders: [importing file, imported file]. */
function importsIn(room) {
  const own = new URL(`../../${room}/`, import.meta.url);
  return readdirSync(own, { recursive: true })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => /\.(tsx?|js)$/.test(file))
    .flatMap((file) =>
      [
        ...readFileSync(new URL(file, own), "utf8").matchAll(/(?:from|import\() ?"(\.[^"]+)\.js"/g),
      ].map(([, path]) => [file, posix.join(posix.dirname(file), path)]),
    )
    .filter(([file, other]) => !other.startsWith("..") && roomOf(file) !== roomOf(other));
}

for (const [room, text] of Object.entries(FOLDERS)) {
  it(`every import between folders of ${room} points to a lower one`, () => {
    const order = text.split(", ").map((folders) => folders.split(" "));
    const step = (file) => order.findIndex((folders) => folders.includes(roomOf(file)));
    const found = importsIn(room);
    const between = found.filter(([file, other]) => roomOf(file) !== "" && roomOf(other) !== "");
    assert.ok(between.length > 50, `${between.length} imports`);
    const others = between.filter(
      ([file, other]) => !(step(other) >= 0 && step(other) < step(file)),
    );
    assert.deepEqual(others, []);
    // Files of no folder that folders import do not import a higher one.
    const used = found.filter(([file, other]) => roomOf(other) === "" && roomOf(file) !== "");
    const circles = used.flatMap(([file, other]) =>
      found.filter(([from, to]) => from.replace(/\.\w+$/, "") === other && step(to) >= step(file)),
    );
    assert.deepEqual(circles, []);
  });
}

it("only the command line imports modules of Node", () => {
  const importers = files.filter((file) =>
    /(?:from|import\() ?"node:/.test(readFileSync(new URL(file, folder), "utf8")),
  );
  assert.ok(importers.length > 0);
  assert.deepEqual([...new Set(importers.map(roomOf))], ["cli"]);
});

it("no files of src/js import each other in a circle", () => {
  const done = new Set();
  const visit = (file, path) => {
    assert.ok(!path.includes(file), `${[...path, file].join(" -> ")}`);
    if (done.has(file)) return;
    for (const other of imports.get(file) ?? []) visit(other, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
});

const tests = new URL("../", import.meta.url);
const testFiles = readdirSync(tests, { recursive: true })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => /\.(m?js|ts)$/.test(file) && !file.includes("node_modules"));
const textOfTest = (file) => readFileSync(new URL(file, tests), "utf8");

it("tests import private modules of the package only through tests/internal", () => {
  const { exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url)));
  const entries = Object.values(exports).map((entry) => entry.default ?? entry);
  const importsOfTest = (file) =>
    [...textOfTest(file).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["'`]([^"'`]*?dist\/[^"'`]*)["'`]/g)]
      .map(([, path]) => posix.join(posix.dirname(`tests/${file}`), path))
      .filter((path) => path.startsWith("dist/"));
  const deep = testFiles
    .filter((file) => !file.startsWith("internal/"))
    .flatMap((file) => importsOfTest(file).map((path) => [file, `./${path}`]))
    .filter(([, path]) => !entries.includes(path));
  assert.deepEqual(deep, []);
  const inside = testFiles.filter((file) => file.startsWith("internal/")).flatMap(importsOfTest);
  assert.ok(inside.length > 50, `${inside.length} imports were found in tests/internal`);
});

it("tests use every name of tests/internal", () => {
  const others = testFiles.filter((file) => !file.startsWith("internal/"));
  const used = new Set(
    others.flatMap((file) =>
      [
        ...textOfTest(file).matchAll(
          /\{([^{}]*)\}\s*(?:from|=\s*await import\()\s*"[^"]*internal\/\w+\.mjs"/g,
        ),
      ]
        .flatMap(([, names]) => names.split(","))
        .map((name) => name.trim().split(/ as |:/)[0]),
    ),
  );
  const unused = testFiles
    .filter((file) => file.startsWith("internal/"))
    .flatMap((file) => [...textOfTest(file).matchAll(/export (?:\* as (\w+)|\{([^}]*)\}) from/g)])
    .flatMap(
      ([, all, names]) => all ?? names.split(",").map((name) => name.trim().split(" as ").at(-1)),
    )
    .filter((name) => name !== "" && !used.has(name));
  assert.deepEqual(unused, []);
});
