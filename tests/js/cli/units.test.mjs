import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { units } from "../../internal/cli.mjs";

describe("sizes", () => {
  for (const [text, bytes] of [
    ["1234", 1234],
    ["0", 0],
    ["1.5GB", 1.5e9],
    ["1.5 GB", 1.5e9],
    ["40MiB", 40 * 2 ** 20],
    ["40MB", 40e6],
    ["40M", 40e6],
    ["40mb", 40e6],
    [".5k", 500],
    ["2T", 2e12],
    ["10 bytes", 10],
  ]) {
    it(`are read as people write them: ${text}`, () => {
      assert.equal(units.parseBytes(text), bytes);
      assert.deepEqual(units.parseBudget(text), { bytes });
    });
  }

  for (const text of [
    "",
    "MB",
    "-1MB",
    "1,5GB",
    "1e9",
    "4 0MB",
    "0x10",
    "NaN",
    "40MBit/s",
    "1.2.3",
  ]) {
    it(`are refused: ${JSON.stringify(text)}`, () => {
      assert.equal(units.parseBytes(text), undefined);
      assert.equal(units.parseBudget(text), undefined);
    });
  }

  it("may be bits per weight or a share", () => {
    assert.deepEqual(units.parseBudget("4.5bpw"), { bitsPerWeight: 4.5 });
    assert.deepEqual(units.parseBudget("4 bits"), { bitsPerWeight: 4 });
    assert.deepEqual(units.parseBudget("25%"), { ratio: 0.25 });
    assert.deepEqual(units.parseBudget("12.5 %"), { ratio: 0.125 });
  });

  it("of signals are decibels", () => {
    assert.equal(units.parseDecibels("30dB"), 30);
    assert.equal(units.parseDecibels("30.5 db"), 30.5);
    assert.equal(units.parseDecibels("-3"), -3);
    assert.equal(units.parseDecibels("loud"), undefined);
  });

  it("are shown in three digits with a unit", () => {
    const shown = [0, 512, 1000, 1500, 99_949, 999_499, 999_500, 40e6, 1.5e12, 12e15];
    assert.deepEqual(shown.map(units.showBytes), [
      ...["0 B", "512 B", "1.00 kB", "1.50 kB", "99.9 kB", "999 kB", "1.00 MB", "40.0 MB"],
      ...["1.50 TB", "12000 TB"],
    ]);
  });
});

describe("times", () => {
  it("are shown in the unit that fits", () => {
    assert.deepEqual([0.04, 9.5, 42, 200, 3660, 7500].map(units.showTime), [
      ...["0.0 s", "9.5 s", "42 s", "3 min 20 s", "1 h 01 min", "2 h 05 min"],
    ]);
  });
});

describe("measured values", () => {
  it("are shown in four digits, infinities and NaN as such", () => {
    const values = [0, 1, 0.123456, 12345.6, 1e-7, Number.POSITIVE_INFINITY, Number.NaN];
    assert.deepEqual(values.map(units.showNumber), [
      ...["0", "1", "0.1235", "12350", "1.00e-7", "∞", "NaN"],
    ]);
  });
});
