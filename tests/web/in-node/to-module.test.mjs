// A notebook as one module runs outside the page.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../../../scripts/process/run.mjs";
import { fromPage } from "../from-page.mjs";

const { digitsCode, importsReplaced, usesDigits } = await fromPage("notebook/digits-code.js");
const { toModule } = await fromPage("notebook/worker/to-module.js");

const folder = join(root, "web", "notebooks");
const build = join(root, "build", "notebook-modules");

/** The cells in a notebook's text. */
const cellsOf = (text) =>
  Array.from(text.matchAll(/```js (\S+).*\n([\s\S]*?)\n```/g), ([, label, source]) => ({
    label,
    source,
  }));

describe("Imports of the digits", () => {
  it("become calls, in each form that a cell may have", () => {
    assert.equal(
      importsReplaced('import { loadDigits, a as b } from "./digits.js";'),
      "const { loadDigits, a: b } = await digitsModule();",
    );
    assert.equal(
      importsReplaced("import * as digits from './digits.js';"),
      "const digits = await digitsModule();",
    );
    assert.equal(
      importsReplaced('({ loadDigits } = await import("./digits.js"));'),
      "({ loadDigits } = await digitsModule());",
    );
  });
});

describe("The module of a notebook", () => {
  for (const name of readdirSync(folder).filter((each) => /^[1-5].*\.md$/.test(each))) {
    it(`runs in Node: ${name}`, () => {
      mkdirSync(build, { recursive: true });
      const cells = cellsOf(readFileSync(join(folder, name), "utf8"));
      assert.ok(cells.length >= 10, `${cells.length}`);
      // Leave out a cell that raises an error in the original: it would end the module.
      const file = join(build, name.replace(/md$/, "mjs"));
      writeFileSync(file, toModule(name, cells));
      const output = execFileSync(process.execPath, [file], { encoding: "utf8" });
      assert.match(output, /tensor\(/);
    });
  }

  it("runs in Node with the digits in it: 6-what-it-costs.md", () => {
    mkdirSync(build, { recursive: true });
    const cells = cellsOf(readFileSync(join(folder, "6-what-it-costs.md"), "utf8"));
    assert.ok(cells.some(({ source }) => usesDigits(source)));
    const reader = readFileSync(join(root, "scripts", "cost", "file.mjs"), "utf8");
    const bytes = readFileSync(join(root, "build", "cost", "digits.bin"));
    const text = importsReplaced(toModule("6", cells.slice(0, 4)));
    assert.ok(!usesDigits(text));
    const file = join(build, "6-what-it-costs.mjs");
    writeFileSync(file, `${text}\n${digitsCode(reader, bytes, "zeropoint")}`);
    const output = execFileSync(process.execPath, [file], { encoding: "utf8" });
    assert.match(output, /^\(\[2000, 784\], 2000\)$/m);
  });

  it("runs in Node with the digits in it: 7-nearest-vectors.md", () => {
    const cells = cellsOf(readFileSync(join(folder, "7-nearest-vectors.md"), "utf8"));
    const reader = readFileSync(join(root, "scripts", "cost", "file.mjs"), "utf8");
    const bytes = readFileSync(join(root, "build", "cost", "digits.bin"));
    const file = join(build, "7-nearest-vectors.mjs");
    const text = importsReplaced(toModule("7", cells));
    writeFileSync(file, `${text}\n${digitsCode(reader, bytes, "zeropoint")}`);
    const output = execFileSync(process.execPath, [file], { encoding: "utf8" });
    assert.match(output, /^with their originals: order$/m);
  });

  it("runs in Node with the digits in it: 8-formats-of-files.md", () => {
    const cells = cellsOf(readFileSync(join(folder, "8-formats-of-files.md"), "utf8"));
    const reader = readFileSync(join(root, "scripts", "cost", "file.mjs"), "utf8");
    const bytes = readFileSync(join(root, "build", "cost", "digits.bin"));
    const file = join(build, "8-formats-of-files.mjs");
    const text = importsReplaced(toModule("8", cells));
    writeFileSync(file, `${text}\n${digitsCode(reader, bytes, "zeropoint")}`);
    const output = execFileSync(process.execPath, [file], { encoding: "utf8" });
    assert.match(output, /^q4_k +96\.05 28224 bytes$/m);
  });

  it("declares each name once, and shows the value of each cell", () => {
    const text = toModule("Title", [
      {
        label: "Cell 1",
        source: 'import { torch } from "zeropoint/notebook";\nconst [a, b] = [1, 2];',
      },
      { label: "Cell 2", source: "let a = 3, c;\na, b;" },
      { label: "Cell 3", source: "function f() { return a; }\nf();" },
    ]);
    assert.match(text, /^let torch, a, b, c, f;$/m);
    assert.match(text, /^show\(tuple\(a, b\)\);$/m);
    assert.match(text, /^show\(f\(\)\);$/m);
  });
});
