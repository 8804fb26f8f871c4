// The examples in the documentation, as shown by editors and the API reference: type-checked by TypeScript, run, and
// compared with their comments.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import * as models from "zeropoint/models";
import * as notebook from "zeropoint/notebook";
import * as search from "zeropoint/search";
import * as torch from "zeropoint/torch";
import {
  complaints,
  documentationTags,
  javascript,
  normal,
  program,
  quoted,
  written,
} from "./support/examples.mjs";
import * as given from "./support/examples-given.mjs";

const ENTRIES = [
  {
    entry: "zeropoint",
    exported: zeropoint,
    types: ["Codes", "QParams"],
    key: "main",
    names: given.main,
    print: written,
    atLeast: 15,
  },
  {
    entry: "zeropoint/torch",
    exported: torch,
    also: { entry: "zeropoint", exported: zeropoint },
    types: [],
    key: "main",
    names: given.main,
    print: written,
    atLeast: 15,
  },
  {
    entry: "zeropoint/models",
    exported: models,
    types: [],
    key: "models",
    names: given.models,
    print: written,
    atLeast: 3,
  },
  {
    entry: "zeropoint/search",
    exported: search,
    types: [],
    key: "search",
    names: given.search,
    print: written,
    atLeast: 7,
  },
  {
    entry: "zeropoint/notebook",
    exported: notebook,
    types: [],
    key: "notebook",
    names: given.notebook,
    print: (value) => (typeof value === "string" ? quoted(value) : notebook.repr(value)),
    atLeast: 15,
  },
];

const AsyncFunction = (async () => {}).constructor;
const tags = documentationTags();

describe("the documentation", () => {
  it("cite sources in the text, not in the preceding tag", () => {
    const swallowed = tags.filter(({ text }) => /^Source:/m.test(text));
    assert.deepEqual(swallowed, []);
  });
});

for (const { entry, exported, also, types, key, names, print, atLeast } of ENTRIES) {
  const own = tags.filter((item) => item.entry === entry && item.tag === "example");

  describe(`the examples of ${entry}`, () => {
    it("are many", () => {
      assert.ok(own.length >= atLeast, `${own.length}`);
    });

    it("pass TypeScript's checks", () => {
      const imported = [...Object.keys(exported), ...types.map((name) => `type ${name}`)];
      const text = [
        ...(also
          ? [`import { ${Object.keys(also.exported).join(", ")} } from "${also.entry}";`]
          : []),
        `import { ${imported.join(", ")} } from "${entry}";`,
        `import { ${key} as given } from "./support/examples-given.mjs";`,
        `const { ${Object.keys(names).join(", ")} } = given;`,
        ...own.map((example) => `void (async () => {\n${example.text}\n});`),
      ].join("\n");
      assert.deepEqual(complaints("example.mts", text), []);
    });

    for (const { title, text } of own.filter(({ starts }) => !starts)) {
      it(`give the results in their comments: ${title}`, async () => {
        const scope = {
          ...also?.exported,
          ...exported,
          ...names,
          console: { log: String },
          sameText: (value, promised) => assert.equal(normal(print(value)), normal(promised)),
        };
        const run = new AsyncFunction(...Object.keys(scope), javascript(program(text)));
        await run(...Object.values(scope));
      });
    }
  });
}
