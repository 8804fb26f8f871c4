// The command line's answers to wrong arguments: one line that names the argument, and exit code 2.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeFolder, zeropoint } from "../support/processes/cli.mjs";

const folder = makeFolder();

describe("zeropoint", () => {
  for (const [args, line] of [
    [["inspct", "x"], 'zeropoint: there is no command "inspct"; did you mean inspect?'],
    [
      ["bake"],
      'zeropoint: there is no command "bake"; the commands are inspect, analyze, plan, quantize, compare, verify, finish',
    ],
    [["help", "quantise"], 'zeropoint: there is no command "quantise"; did you mean quantize?'],
    [
      ["inspect", "x", "--jsn"],
      "zeropoint inspect: there is no option --jsn; did you mean --json?",
    ],
    [["inspect", "x", "-z"], "zeropoint inspect: there is no option -z; --help lists the options"],
    [["inspect"], "zeropoint inspect: FILE is missing; usage: zeropoint inspect FILE [options]"],
    [
      ["inspect", "x", "y"],
      'zeropoint inspect: "y" is one argument too many; usage: zeropoint inspect FILE [options]',
    ],
    [["inspect", ""], "zeropoint inspect: FILE is empty; usage: zeropoint inspect FILE [options]"],
    [["compare", "x", ""], "zeropoint compare: B is empty; usage: zeropoint compare A B [options]"],
    [["inspect", "x", "-o"], "zeropoint inspect: -o takes OUT"],
    [
      ["inspect", "x", "-o", "--csv"],
      "zeropoint inspect: -o takes OUT, got --csv; -o=--csv if it is one",
    ],
    [["inspect", "x", "--json=1"], 'zeropoint inspect: --json takes no value, got "1"'],
    [["inspect", "x", "-o", "a", "-o", "b"], "zeropoint inspect: -o is given twice"],
    [["inspect", "x", "--json", "--csv"], "zeropoint inspect: --json and --csv exclude each other"],
    [
      ["inspect", "x", "--include", "{a"],
      'zeropoint inspect: --include must close each brace, got "{a"',
    ],
  ]) {
    it(`reports in one line the mistake in: ${args.join(" ")}`, () => {
      assert.deepEqual(zeropoint(folder, args), { code: 2, stdout: "", stderr: `${line}\n` });
    });
  }

  it("prints its help without arguments, and exits with an error", () => {
    const { code, stdout, stderr } = zeropoint(folder, []);
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /^usage: zeropoint COMMAND/m);
  });
});
