// The command line's help, its examples, and the files that it loads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { COMMAND_NAMES, COMMANDS } from "../../internal/cli.mjs";
import { makeFolder, zeropoint } from "../support/processes/cli.mjs";

const folder = makeFolder();

describe("zeropoint --help", () => {
  it("names every command and every exit code", () => {
    const { code, stdout, stderr } = zeropoint(folder, ["--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    for (const name of COMMAND_NAMES) assert.match(stdout, new RegExp(`^ {2}${name} `, "m"));
    for (const exit of ["0", "1", "2", "3", "4", "70", "130, 143"]) {
      assert.match(stdout, new RegExp(`^ {2}${exit} `, "m"));
    }
  });

  for (const name of COMMAND_NAMES) {
    it(`names every option of ${name}, in lines of at most 80 columns`, () => {
      const { code, stdout, stderr } = zeropoint(folder, [name, "--help"]);
      assert.deepEqual([code, stderr], [0, ""]);
      for (const { name: option } of COMMANDS[name].options) {
        assert.match(stdout, new RegExp(`--${option}\\b`));
      }
      const isExample = (line) => line.startsWith("  zeropoint ");
      const long = stdout.split("\n").filter((line) => line.length > 80 && !isExample(line));
      assert.deepEqual(long, []);
      assert.deepEqual(zeropoint(folder, ["help", name]).stdout, stdout);
      assert.deepEqual(zeropoint(folder, [name, "x", "--quiet", "-h"]).stdout, stdout);
    });
  }

  it("loads nothing but files of the command line, so that it starts at once", () => {
    const dist = new URL("../../../dist/", import.meta.url);
    const loaded = new Set();
    const visit = (url) => {
      if (loaded.has(url.href)) return;
      loaded.add(url.href);
      const source = readFileSync(url, "utf8");
      for (const [, path] of source.matchAll(/^(?:import|export)\b[^;]*?from "(\.[^"]+)"/gm)) {
        visit(new URL(path, url));
      }
    };
    for (const name of ["main", "help"]) visit(new URL(`cli/${name}.js`, dist));
    const outside = [...loaded].filter((url) => !url.startsWith(new URL("cli/", dist).href));
    assert.deepEqual(outside, []);
    assert.ok(loaded.size < 10, `${loaded.size} files`);
  });
});

describe("zeropoint --version", () => {
  it("is the package's version", () => {
    const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
    const { version } = JSON.parse(text);
    assert.deepEqual(zeropoint(folder, ["--version"]), {
      ...{ code: 0, stdout: `${version}\n`, stderr: "" },
    });
  });
});
