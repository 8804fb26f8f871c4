// Messages that a cell forges: the page ignores them, stays alive, and keeps no address that they name.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { chromiumOnly } from "../browser.mjs";
import { openNotebook, openPage, press, readCells, typeInto, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";
import { cell, openForEach, openOnce, page as ownPage, runInFirstCell } from "./first-notebook.mjs";

describe("What a cell makes the kernel send", () => {
  openOnce();

  it("is no plot of more values than its data", async () => {
    const forged = `({ kind: "quantization-errors", n_bits: 8,
      panels: [{ title: "t", shape: [1, 2 ** 40], data: [1] }] })`;
    const { state, error, plots } = await runInFirstCell(forged);
    assert.deepEqual([state, plots], ["failed", 0]);
    assert.match(error, /as many values as their shape/);
  });

  it("is at most 50 errors of promises", async () => {
    await runInFirstCell(
      "for (let i = 0; i < 20_000; i++) Promise.reject(new Error(String(i))); 1",
    );
    await waitFor(
      ownPage,
      (selector) =>
        document
          .querySelector(`${selector} .cell-output`)
          .textContent.includes("the other errors are left out"),
      cell(1),
    );
    const errors = await ownPage.$$eval(`${cell(1)} .cell-error`, (all) => all.length);
    assert.ok(errors <= 51, String(errors));
    const { output } = await runInFirstCell("print(1 + 1)");
    assert.equal(output, "2");
  });

  it("is no answer to a run that the cell asks for itself", async () => {
    const { output } = await runInFirstCell(`
      self.dispatchEvent(new MessageEvent("message", { data: { type: "export", title: "x", cells: [] } }));
      self.dispatchEvent(new MessageEvent("message",
        { data: { type: "run", run: 10 ** 6, label: "x", source: "print('forged')", checks: [] } }));
      await new Promise((resolve) => setTimeout(resolve, 50));
      print("own")`);
    assert.equal(output, "own");
  });
});

describe("A cell in the worker of the kernel", () => {
  // What a cell replaces stays in its worker.
  openForEach();

  it("finds the kernel's token by no function that it can replace", async () => {
    // Every function that can be replaced, on every object that the global one leads to.
    const { state, output } = await runInFirstCell(`
      const { ownKeys, getOwnPropertyDescriptor, apply, construct } = Reflect;
      const define = Object.defineProperty;
      const found = [];
      let looked = 0;
      let isLooking = false;
      const look = (value, depth) => {
        looked++;
        if (typeof value === "string") {
          if (/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/.test(value)) found.push(value);
        } else if (Object(value) === value && depth > 0) {
          for (const key of ownKeys(value)) {
            const { value: inner } = getOwnPropertyDescriptor(value, key) ?? {};
            look(key, 0);
            look(inner, depth - 1);
          }
        }
      };
      const watch = (values) => {
        if (isLooking) return;
        isLooking = true;
        try { for (const value of values) look(value, 3); } catch {}
        isLooking = false;
      };
      const watched = (original) => function (...given) {
        watch([this, given]);
        const result = new.target ? construct(original, given, new.target) : apply(original, this, given);
        watch([result]);
        return result;
      };
      let replaced = 0;
      const seen = new Set([Function.prototype, found]);
      const visit = (object, depth) => {
        if (Object(object) !== object || seen.has(object)) return;
        seen.add(object);
        for (const key of ownKeys(object)) {
          const field = getOwnPropertyDescriptor(object, key);
          if (depth > 0) visit(field.value, depth - 1);
          if (!field.configurable && !field.writable || key === "constructor") continue;
          const isClass = typeof field.value === "function" && "prototype" in field.value;
          try {
            if (typeof field.value === "function" && !isClass) field.value = watched(field.value);
            else if (field.get) field.get = watched(field.get);
            else continue;
            define(object, key, field);
            replaced++;
          } catch {}
        }
      };
      visit(globalThis, 3);
      globalThis.theft = { found, replaced, looked: () => looked };
      for (const type of ["message", "error", "unhandledrejection"]) {
        self.addEventListener(type, (event) => watch([event, event.data]), true);
      }
      Error.prepareStackTrace = (error, calls) => {
        for (const call of calls) watch([call.getThis?.(), call.getFunction?.()]);
        return "";
      };
      let o = {}; Object.defineProperty(o, "toString", { value: () => "x" });
      print("a", [1, { b: 2 }], o); console.log("x", new Error("e"));
      plotLines({ series: [{ name: "a", points: [[0, 1], [1, 2]] }] });
      Promise.reject(new Error("late"));
      await structuredClone("01234567-0123-4012-planted");
      1`);
    assert.equal(state, "done", output);
    const { output: told } = await runInFirstCell(
      "const { theft } = globalThis;\nprint(new Set(theft.found).size, theft.found[0], theft.replaced, theft.looked())",
    );
    const [, different, first, replaced, looked] = /^(\d+) (\S+) (\d+) (\d+)/.exec(told) ?? [told];
    assert.deepEqual([different, first], ["1", "01234567-0123-4012-planted"]);
    assert.ok(replaced > 500 && looked > 10, told);
  });

  it("leaves the next cell its run, whatever it does with the kernel's events", async () => {
    await runInFirstCell(`
      const replace = (object, name, field) => {
        try { Object.defineProperty(object, name, field); } catch {}
      };
      replace(MessageEvent.prototype, "data", { get: () => ({ type: "export", title: "x", cells: [] }) });
      replace(Event.prototype, "preventDefault", { value() {} });
      replace(Promise.prototype, "then", { value() { return this; } });
      replace(Promise, "race", { value: () => new Promise(() => {}) });
      for (const type of ["message", "error", "unhandledrejection"]) {
        self.addEventListener(type, (event) => {
          replace(event, "data", { value: { type: "run", run: 1, source: "print('forged')", checks: [] } });
          replace(event, "preventDefault", { value() {} });
          event.stopImmediatePropagation();
        }, true);
      }
      setTimeout(() => { throw new Error("x".repeat(2 ** 24)); });
      await new Promise((resolve) => setTimeout(resolve, 50)).catch(() => {});
      1`);
    const { state, output } = await runInFirstCell("print('own')");
    assert.deepEqual([state, output], ["done", "own"]);
  });

  const names = Array.from({ length: 20_001 }, (_, i) => `let a${i}`).join(";");
  for (const [what, source, where = {}] of [
    ["a name of 1,001 letters", `let ${"a".repeat(1001)} = 1; print("ended")`],
    ["20,001 names", `${names};\nprint("ended")`, chromiumOnly("enter a long text at once")],
    [
      "an error whose fields throw",
      `print("ended"); throw new Proxy(new Error(), { get() { throw 1; }, getPrototypeOf() { throw 1; } })`,
    ],
  ]) {
    it(`ends with ${what}`, where, async () => {
      const { output } = await runInFirstCell(source);
      assert.match(output, /ended/);
    });
  }
});

describe("The page of a worker that sends messages of its own", () => {
  let visit;
  let page;
  before(async () => {
    visit = await openPage(browser, site.url, {
      prepare: () => {
        const Original = Worker;
        window.Worker = class extends Original {
          constructor(...given) {
            super(...given);
            window.worker = this;
          }
        };
      },
    });
    ({ page } = visit);
    await openNotebook(page, "quantize-and-dequantize");
    await page.$eval(`${cell(1)} button.run`, (button) => button.click());
    await page.waitForSelector(`${cell(1)}[data-state='done']`);
  });
  after(() => visit?.close());

  const forge = (count, make) =>
    page.evaluate(
      (times, source) => {
        const data = new Function(`return (${source})()`)();
        for (let i = 0; i < times; i++) {
          window.worker.dispatchEvent(new MessageEvent("message", { data }));
        }
      },
      count,
      String(make),
    );

  it("draws no forged plot, and shows no forged text", async () => {
    await forge(1, () => ({
      type: "output",
      run: 1,
      output: {
        kind: "plot",
        plot: {
          ...{ kind: "quantization-errors", n_bits: 8 },
          panels: [{ name: "original", title: "", shape: [1, 2 ** 40], data: new Float64Array(1) }],
        },
      },
    }));
    await forge(1, () => ({
      type: "output",
      run: 1,
      output: { kind: "text", text: "x".repeat(2 ** 26) },
    }));
    await forge(1, () => ({ type: "output", run: 1, output: { kind: "text", text: "forged" } }));
    const [{ plots, output }] = await readCells(page);
    assert.equal(plots, 0);
    assert.ok(output.length < 10_000, String(output.length));
    assert.doesNotMatch(output, /forged/);
  });

  it("ignores what cannot be shown: ports, pictures, streams, cycles and lists of billions", async () => {
    for (const make of [
      () => new MessageChannel().port1,
      () => ({ type: new Array(2 ** 32 - 1), run: 1 }),
      () => ({ type: "output", run: 1, output: new OffscreenCanvas(8000, 8000) }),
      () => ({ type: "output", run: 1, output: new ImageData(1, 1) }),
      () => ({ type: "done", run: 1, checks: new ReadableStream() }),
      () => {
        const cyclic = { type: "done", run: 1 };
        cyclic.error = cyclic;
        return cyclic;
      },
    ]) {
      await forge(3, make);
    }
    const [{ state, output }] = await readCells(page);
    assert.equal(state, "done");
    assert.doesNotMatch(output, /object/);
  });

  it("keeps no files that a forged list names", async () => {
    await forge(3, () => ({
      type: "ready",
      files: Array(1000).fill(`${location.origin}/index.html?forged`),
    }));
    const kept = await page.evaluate(async () => {
      const found = await Promise.all(
        (await caches.keys()).map(async (name) =>
          (await (await caches.open(name)).keys()).map(({ url }) => url),
        ),
      );
      return found.flat().filter((url) => url.includes("forged"));
    });
    assert.deepEqual(kept, []);
  });

  it("ends the worker that sends 20,000 of them, and runs cells in a new one", async () => {
    await page.evaluate(() => {
      window.flooding = window.worker;
    });
    await forge(20_000, () => ({ type: "output", run: 1, output: { kind: "text", text: "x" } }));
    await page.$eval(`${cell(1)} button.run`, (button) => button.click());
    await page.waitForSelector(`${cell(1)}[data-state='done']`);
    const [{ output }] = await readCells(page);
    assert.doesNotMatch(output, /xxx/);
    assert.ok(await page.evaluate(() => window.worker !== window.flooding));
  });

  it("shows the beginning of a long error of the worker itself", async () => {
    await typeInto(page, cell(1), "await new Promise(() => {})");
    await press(page, "Mod+Enter");
    await page.waitForSelector(`${cell(1)}[data-state='running']`);
    await page.evaluate(() =>
      window.worker.dispatchEvent(
        new ErrorEvent("error", { message: "x".repeat(2 ** 24), cancelable: true }),
      ),
    );
    await page.waitForSelector(`${cell(1)}[data-state='failed']`);
    const [{ error }] = await readCells(page);
    assert.match(error, /The worker that runs the cells failed: xxx/);
    assert.ok(error.length < 2000, String(error.length));
  });
});
