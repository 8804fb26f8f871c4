// The output of print in cells; no browser needed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromPage } from "../from-page.mjs";

const { printedText } = await fromPage("notebook/worker/print.js");

describe("printedText", () => {
  it("puts a space between values and a new line after them", () => {
    assert.equal(printedText(["a", 1, [0.5]]), "a 1 [0.5]\n");
    assert.equal(printedText([]), "\n");
  });

  it("takes sep and end in an object after the values, null for the default", () => {
    assert.equal(printedText([1, 2, { sep: ", " }]), "1, 2\n");
    assert.equal(printedText([1, 2, { end: "" }]), "1 2");
    assert.equal(printedText([1, 2, { sep: "", end: "!\n", flush: true }]), "12!\n");
    assert.equal(printedText([1, 2, { sep: null, end: undefined }]), "1 2\n");
  });

  it("prints every other object, and an object alone, as a value", () => {
    assert.equal(printedText([1, { sep: 2 }]), "1 {'sep': 2}\n");
    assert.equal(printedText([1, { end: "", x: 1 }]), "1 {'end': '', 'x': 1}\n");
    assert.equal(printedText([1, {}]), "1 {}\n");
    assert.equal(printedText([{ end: "" }]), "{'end': ''}\n");
    class Range {
      end = "";
    }
    assert.equal(printedText([1, new Range()]), "1 Range {'end': ''}\n");
  });
});
