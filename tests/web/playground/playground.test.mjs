// The playground in the page: its figures are the package's, its links round trips, its controls work by keyboard.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as zeropoint from "zeropoint";
import { torch } from "zeropoint/notebook";
import { MinMaxObserver, quantizePerTensor } from "zeropoint/torch";
import { axeViolations, onceForAll } from "../axe.mjs";
import { click, enter, inWholeSuite, openPage, press, textOf, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

before(() => zeropoint.init());

const COMPLETE = "#play .play[data-complete]";

/** Opens a state of the playground, and waits until all of it is computed. */
async function open(hash, options) {
  const visit = await openPage(browser, `${site.url}#play${hash}`, options);
  await visit.page.waitForSelector(COMPLETE);
  return visit;
}

/** The errors and sizes on the page, by name; of A and B, B. */
const metrics = (page) =>
  page.$$eval(".play-metrics tbody tr", (rows) =>
    Object.fromEntries(
      rows.map((row) => {
        const cells = Array.from(row.cells, ({ textContent }) => textContent);
        return [cells[0], cells.length > 2 ? cells[2] : cells[1]];
      }),
    ),
  );

/** The numbers of the first page of the table of elements: value, code, restored, error. */
async function elements(page) {
  await page.$eval(".play-table details", (details) => {
    details.open = true;
  });
  await page.waitForSelector(".play-table tbody td");
  return page.$$eval(".play-table tbody tr", (rows) =>
    rows.map((row) =>
      Array.from(row.querySelectorAll("td"), ({ textContent }) =>
        Number(textContent.replaceAll("−", "-")),
      ),
    ),
  );
}

/** Drops a file on the playground. @returns the values that it shows then */
async function valuesOfFile(page, name, type, bytes) {
  await page.evaluate(
    (fileName, fileType, content) => {
      delete document.querySelector(".play").dataset.complete;
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([Uint8Array.from(content)], fileName, { type: fileType }));
      const event = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
      document.querySelector("#play").dispatchEvent(event);
    },
    name,
    type,
    bytes,
  );
  await page.waitForSelector(COMPLETE);
  return (await elements(page)).map(([value]) => value);
}

/** As the page writes numbers. */
const four = (value) => Number(value.toPrecision(4));

/** The normal numbers that the page draws by the same seed. */
function normal(rows, columns, seed) {
  torch.manual_seed(seed);
  return zeropoint.tensor(Array.from(torch.randn(rows, columns).data), [rows, columns]);
}

const CASES = [
  ["s=symmetric&b=4", (x) => zeropoint.quantize(x, { dtype: "int4" })],
  [
    "s=affine&u=1&b=8&g=channel.1",
    (x) => zeropoint.quantize(x, { dtype: "uint8", scheme: "affine", axis: 1 }),
  ],
  [
    "s=symmetric&b=2&g=group.4&r=mse",
    (x) => zeropoint.quantize(x, { dtype: "int2", groupSize: 4, range: "mse" }),
  ],
  [
    "s=affine&b=8&r=ends&lo=-1&hi=0.5",
    (x) => {
      const ends = zeropoint.tensor([-1, 0.5]);
      return zeropoint.quantize(x, zeropoint.chooseQParams(ends, { scheme: "affine" }));
    },
  ],
  [
    "t=1&s=symmetric&b=8",
    (x) => {
      const observer = new MinMaxObserver({
        dtype: "qint8",
        qscheme: "per_tensor_symmetric",
      });
      observer.observe(x);
      const { scale, zeroPoint } = observer.calculateQParams();
      return quantizePerTensor(x, scale.data[0], zeroPoint.data[0], "qint8");
    },
  ],
];

describe("The playground's figures", () => {
  for (const [hash, quantize] of CASES) {
    it(`are those of the package: ${hash}`, async () => {
      const visit = await open(`?v=1&x=normal.6.8.7&${hash}`);
      const { page } = visit;
      const x = normal(6, 8, 7);
      const q = quantize(x);
      const restored = zeropoint.dequantize(q);
      const rows = await elements(page);
      assert.equal(rows.length, 25);
      for (const [i, row] of rows.entries()) {
        const error = Math.fround(x.data[i] - restored.data[i]);
        const expected = [x.data[i], q.data[i], restored.data[i], error];
        // Small numbers have two digits.
        const digits = Math.abs(error) < 1e-3 ? row.slice(0, 3) : row;
        assert.deepEqual(digits, expected.map(four).slice(0, digits.length), `element ${i}`);
      }
      const shown = await metrics(page);
      const sqnr = zeropoint.quantizationError(x, restored, "sqnr").toFixed(1);
      assert.equal(shown["SQNR, dB"].replace("−", "-"), sqnr);
      assert.equal(shown.Cosine, zeropoint.quantizationError(x, restored, "cosine").toFixed(6));
      assert.deepEqual(await visit.problems(), []);
      await visit.close();
    });
  }

  it("list every scheme with the error that it gives when it is chosen", async () => {
    const { page, close } = await open("?v=1&x=normal.16.64.1&s=symmetric&b=8");
    const rowOf = (name) =>
      page.$eval(`[data-row="${name}"]`, (button) =>
        Array.from(button.closest("tr").cells, ({ textContent }) => textContent),
      );
    for (const name of ["int4-channel", "int4-g32-affine", "int2-tensor-mse", "q4_0"]) {
      const [, , bytes, sqnr, , largest] = await rowOf(name);
      await page.$eval(`[data-row="${name}"]`, (button) => button.click());
      await page.waitForSelector(`tr[data-chosen] [data-row="${name}"]`);
      await page.waitForSelector(COMPLETE);
      const shown = await metrics(page);
      assert.deepEqual(
        [shown.Bytes, shown["SQNR, dB"], shown["Largest error"]],
        [bytes, sqnr, largest],
      );
    }
    await close();
  });
});

describe("The playground's data", inWholeSuite, () => {
  it("is pasted, or refused with line and column where the cursor goes", async () => {
    const { page, close } = await open("");
    await click(page, ".play-paste summary");
    await page.focus("#play-text");
    await enter(page, "[[1, 2],\n[3, x]]");
    await click(page, ".play-paste button[type='submit']");
    const message = await textOf(page, "#play-text-error:not([hidden])");
    assert.equal(message, 'Line 2, column 5: "x" is not a number.');
    assert.equal(
      await page.$eval("#play-text", ({ value, selectionStart }) => value[selectionStart]),
      "x",
    );
    assert.deepEqual(await axeViolations(page), []);
    await enter(page, "4");
    await click(page, ".play-paste button[type='submit']");
    await page.waitForSelector("#play-text-error[hidden]");
    await page.waitForSelector(COMPLETE);
    assert.deepEqual(
      (await elements(page)).map(([value]) => value),
      [1, 2, 3, 4],
    );
    await close();
  });

  it("comes back by its link, with the settings and what they are compared with", async () => {
    const { page, close } = await open("?v=1&x=rows.4.6.3&s=symmetric&b=4");
    await click(page, "[data-action='keep']");
    await page.select("select[name='scheme']", "affine");
    await click(page, ".play-controls input[value='channel'] + span");
    await page.waitForSelector(".play-metrics thead");
    await waitFor(page, () => /&a=.*&s=affine.*&g=channel/.test(location.hash));
    await page.waitForSelector(COMPLETE);
    const before = [await metrics(page), await textOf(page, ".play-metrics caption")];
    const hash = await page.evaluate(() => location.hash);
    await close();
    const again = await open(hash.slice("#play".length));
    await again.page.waitForSelector(".play-metrics thead");
    const after = [await metrics(again.page), await textOf(again.page, ".play-metrics caption")];
    assert.deepEqual(after, before);
    await again.close();
  });

  it("is generated in another size after one that is too large", async () => {
    const { page, close } = await open("?v=1&x=rows.4.6.3");
    const put = (columns) =>
      page.$eval(
        "#play [name='columns']",
        (field, value) => {
          field.value = value;
          field.dispatchEvent(new Event("input", { bubbles: true }));
          return field.validationMessage;
        },
        columns,
      );
    assert.equal(await put("500000"), "A million values at most");
    assert.equal(await put("8"), "");
    await waitFor(page, () => location.hash.includes("x=rows.4.8.3"));
    await close();
  });

  it("is generated after a link that holds data of its own", async () => {
    const { page, close } = await open("");
    await click(page, ".play-paste summary");
    await page.focus("#play-text");
    await enter(page, "1 2 3");
    await click(page, ".play-paste button[type='submit']");
    await waitFor(page, () => location.hash.includes("d=3."));
    const hash = await page.evaluate(() => location.hash);
    await close();
    const again = await open(hash.slice("#play".length));
    await again.page.select("select[name='generator']", "normal");
    await waitFor(again.page, () => location.hash.includes("x=normal.12.16.42"));
    await again.close();
  });

  it("is taken from files that are dropped; text is left to the field", async () => {
    const { page, close } = await open("");
    const isTaken = await page.evaluate(() =>
      ["file", "text"].map((kind) => {
        const dataTransfer = new DataTransfer();
        if (kind === "file") dataTransfer.items.add(new File(["1"], "x.csv"));
        else dataTransfer.setData("text/plain", "1");
        const event = new DragEvent("dragover", { dataTransfer, bubbles: true, cancelable: true });
        return !document.querySelector("#play-text").dispatchEvent(event);
      }),
    );
    assert.deepEqual(isTaken, [true, false]);
    await close();
  });

  it("is said to be damaged, and the address stays until there is a change", async () => {
    const given = "?v=1&d=4x4.damaged&s=symmetric";
    const hash = `#play${given}`;
    const { page, close } = await open(given);
    await page.waitForSelector(".play-damage:not([hidden])");
    // Longer than the time after which the link is written.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 600)));
    assert.match(await textOf(page, ".play-damage"), /^This link is damaged \(.+\)\./);
    assert.equal(await page.evaluate(() => location.hash), hash);
    await page.select("select[name='scheme']", "affine");
    await waitFor(page, (old) => location.hash !== old, hash);
    assert.equal(await page.$(".play-damage:not([hidden])"), null);
    await close();
  });

  it("is said to have settings that do not apply, and the address stays until there is a change", async () => {
    const given = "?v=1&x=rows.4.4.1&s=affine&b=99&q=7&g=group.8";
    const { page, close } = await open(given);
    await page.waitForSelector(".play-damage:not([hidden])");
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 600)));
    assert.match(await textOf(page, ".play-damage"), /do not apply \(b=99, q=7\)\./);
    assert.equal(await page.evaluate(() => location.hash), `#play${given}`);
    await page.select("select[name='scheme']", "symmetric");
    await waitFor(page, (old) => location.hash !== old, `#play${given}`);
    assert.equal(await page.$(".play-damage:not([hidden])"), null);
    await close();
  });

  it("does not go into the address of a view that is opened while its link is written", async () => {
    const visit = await open("");
    const { page } = visit;
    // The address changes before the event says so.
    await page.evaluate(() => {
      const textOfLink = URLSearchParams.prototype.toString;
      URLSearchParams.prototype.toString = function () {
        if (this.has("v")) location.hash = "measure";
        return textOfLink.call(this);
      };
    });
    await page.focus('#play [name="bits"]');
    await press(page, "ArrowRight");
    await page.waitForSelector("#measure[data-current]");
    await visit.close();
  });

  it("is read from files of NumPy", async () => {
    const { page, close } = await open("");
    const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".padEnd(117);
    const npy = Buffer.concat([
      Buffer.from("\x93NUMPY\x01\x00", "latin1"),
      Buffer.from([118, 0]),
      Buffer.from(`${header}\n`),
      Buffer.from(Float32Array.from([1, -2, 3, -4, 5, -6]).buffer),
    ]);
    assert.deepEqual(await valuesOfFile(page, "x.npy", "", [...npy]), [1, -2, 3, -4, 5, -6]);
    await close();
  });

  it("is read from files of CSV", async () => {
    const { page, close } = await open("");
    const csv = Buffer.from("a,b,c\n1,-2,3\n-4,5,-6\n");
    const values = await valuesOfFile(page, "x.csv", "text/csv", [...csv]);
    assert.deepEqual(values, [1, -2, 3, -4, 5, -6]);
    await close();
  });

  it("is read from images, as luminance", async () => {
    const { page, close } = await open("");
    // Black, white and pure red.
    const image = await page.evaluate(async () => {
      const canvas = new OffscreenCanvas(3, 1);
      const context = canvas.getContext("2d");
      for (const [i, color] of ["#000", "#fff", "#f00"].entries()) {
        context.fillStyle = color;
        context.fillRect(i, 0, 1, 1);
      }
      return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
    });
    assert.deepEqual(await valuesOfFile(page, "x.png", "image/png", image), [0, 1, 0.2126]);
    await close();
  });
});

describe("A long text", () => {
  it("is read as it is pasted, and never laid out in the field", async () => {
    const { page, close, problems } = await open("");
    const rows = 50_000;
    const field = await page.evaluate((count) => {
      delete document.querySelector(".play").dataset.complete;
      document.querySelector(".play-paste").open = true;
      const data = Array.from({ length: count }, (_, i) => i / 8).join("\n");
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", data);
      const text = document.querySelector("#play-text");
      // Firefox takes no clipboardData from a script, but data with its type.
      const forFirefox = { dataType: "text/plain", data };
      const options = { clipboardData, ...forFirefox, bubbles: true, cancelable: true };
      const wasLeft = text.dispatchEvent(new ClipboardEvent("paste", options));
      return { wasLeft, value: text.value };
    }, rows);
    assert.deepEqual(field, { wasLeft: false, value: "" });
    await page.waitForSelector(COMPLETE);
    const values = (await elements(page)).map(([value]) => value);
    assert.deepEqual(values.slice(0, 3), [0, 0.125, 0.25]);
    assert.match(await textOf(page, ".play-grid .play-range"), /to 6250\b/);
    assert.deepEqual(await problems(), []);
    await close();
  });
});

describe("The playground by keyboard", () => {
  let visit;
  let page;
  before(async () => {
    visit = await open("?v=1&x=normal.6.8.7&s=affine&b=4");
    ({ page } = visit);
  });
  after(() => visit?.close());

  it("moves the ends of the range, and keeps the focus on them", async () => {
    const value = (selector) => page.$eval(selector, (each) => Number(each.ariaValueNow));
    const upper = ".play-handle[aria-label^='Upper']";
    const before = await value(upper);
    // Puppeteer focuses HTML elements only.
    await page.$eval(upper, (handle) => handle.focus());
    await press(page, "Shift+ArrowLeft");
    await waitFor(page, () => document.querySelector("[name='range']").value === "ends");
    await waitFor(
      page,
      (selector, old) => Number(document.querySelector(selector).ariaValueNow) < old,
      upper,
      before,
    );
    assert.ok(await page.$eval(upper, (handle) => handle === document.activeElement));
  });

  it("selects elements, and announces them", async () => {
    await page.focus(".play-canvas");
    for (const key of ["ArrowDown", "ArrowRight", "ArrowRight"]) await press(page, key);
    assert.equal(await textOf(page, ".play-index"), "[1, 2]");
    const spoken = await textOf(page, ".play-inspector [aria-live]");
    assert.match(spoken, /^Element \[1, 2\]: value .*, code .*, restored .*, error /);
  });

  it("sorts schemes, and keeps the focus on the column", async () => {
    await page.waitForSelector(COMPLETE);
    await page.focus("[data-sort='bytes']");
    await press(page, "Enter");
    const sorted = await page.$$eval("[data-column='bytes']", (cells) =>
      cells.map(({ textContent }) => Number(textContent.replaceAll(",", ""))),
    );
    assert.deepEqual(
      sorted,
      sorted.toSorted((a, b) => a - b),
    );
    assert.equal(await page.evaluate(() => document.activeElement.dataset.sort), "bytes");
  });

  it("chooses a scheme", async () => {
    await page.waitForSelector(COMPLETE);
    await page.focus("[data-row='int8-channel']");
    await press(page, "Enter");
    await page.waitForSelector("tr[data-chosen] [data-row='int8-channel'][aria-current]");
  });

  it("causes no errors and breaks no policy", async () => {
    assert.deepEqual(await visit.problems(), []);
  });
});

describe("A sweep of settings that change before it ends", () => {
  it("is aborted by its signal, and its rows are never shown", async () => {
    // The page's end alone: the worker is not told that the call is aborted, and answers it.
    const prepare = () => {
      const { postMessage } = Worker.prototype;
      const sweep = { id: 0, isAborted: false, isAnswered: false };
      Object.assign(window, { sweep });
      Worker.prototype.postMessage = function (...message) {
        const [{ id, name, argument }] = message;
        if (name === undefined && id === sweep.id) {
          sweep.isAborted = true;
          return;
        }
        Reflect.apply(postMessage, this, message);
        if (name !== "schemes" || argument.groupSize !== 8) return;
        sweep.id = id;
        this.addEventListener("message", ({ data }) => {
          if (data.id === id) sweep.isAnswered = true;
        });
        const field = document.querySelector("#play [name='groupSize']");
        field.value = "16";
        queueMicrotask(() => field.dispatchEvent(new Event("input", { bubbles: true })));
      };
    };
    const { page, close } = await open("?v=1&x=normal.16.64.1&s=symmetric&b=4&g=group.4", {
      prepare,
    });
    await page.evaluate(() => {
      const seen = new Set();
      Object.assign(window, { seen });
      const place = document.querySelector(".play-schemes-place");
      const look = () => {
        for (const { dataset } of place.querySelectorAll("[data-row^='int4-g']"))
          seen.add(dataset.row);
      };
      look();
      new MutationObserver(look).observe(place, {
        subtree: true,
        childList: true,
        attributes: true,
      });
      const field = document.querySelector("#play [name='groupSize']");
      field.value = "8";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await waitFor(page, () => window.sweep.isAnswered);
    await page.waitForSelector("[data-row='int4-g16']");
    await page.waitForSelector(COMPLETE);
    assert.ok(await page.evaluate(() => window.sweep.isAborted));
    const seen = await page.evaluate(() => [...window.seen].filter((name) => /g\d+$/.test(name)));
    assert.deepEqual(seen, ["int4-g4", "int4-g16"]);
    await close();
  });
});

describe("A narrow screen", inWholeSuite, () => {
  it("is not exceeded, whatever is open, nor by letters of twice the size", async () => {
    const viewport = { width: 320, height: 640 };
    const hash = "?v=1&x=rows.12.16.42&a=s%3Dsymmetric%26b%3D4&s=affine&b=8&r=qparams&sc=0.1&z=1";
    const { page, close } = await open(hash, { viewport });
    await page.$$eval("#play details", (all) => {
      for (const details of all) details.open = true;
    });
    await click(page, "[data-export='cell']");
    await page.waitForSelector("#play .cell");
    for (const [fontSize, width] of [
      ["100%", 320],
      ["200%", 360],
    ]) {
      await page.setViewport({ width, height: 640 });
      const [wide, room] = await page.evaluate((size) => {
        document.documentElement.style.fontSize = size;
        return [document.documentElement.scrollWidth, document.documentElement.clientWidth];
      }, fontSize);
      assert.equal(wide, room, fontSize);
    }
    await close();
  });
});

describe("A notebook cell of the playground", inWholeSuite, () => {
  it("holds the settings, and runs when it is run and not before", async () => {
    const { page, close } = await open("?v=1&x=normal.4.4.7&s=symmetric&b=4&g=channel.0");
    assert.equal(await page.$("#play .cell"), null);
    await click(page, "[data-export='cell']");
    await page.waitForSelector("#play .cell");
    assert.match(await textOf(page, "#play .cell-code"), /dtype: "int4", axis: 0/);
    assert.equal(await page.$("#play .cell[data-state='done']"), null);
    await click(page, "#play .cell button.run");
    await page.waitForSelector("#play .cell[data-state='done']");
    const { data } = zeropoint.quantize(normal(4, 4, 7), { dtype: "int4", axis: 0 });
    const printed = await textOf(page, "#play .cell-output");
    assert.ok(printed.includes(Array.from(data).slice(0, 4).join(", ")), printed);
    await close();
  });
});

describe("A card of the playground", () => {
  it("is a picture of the settings, in the theme of the page", async () => {
    const { page, close, problems } = await open("?v=1&x=normal.16.16.7&s=affine&b=4");
    const cards = [];
    for (const theme of ["first", "other"]) {
      if (theme === "other") await page.$eval("#theme", (button) => button.click());
      const card = await page.evaluate(async () => {
        const { createObjectURL } = URL;
        /** @type {Promise<Blob>} */
        const made = new Promise((resolve) => {
          URL.createObjectURL = (blob) => {
            resolve(blob);
            return createObjectURL.call(URL, blob);
          };
        });
        document.querySelector("[data-export='card']").click();
        const picture = await createImageBitmap(await made);
        URL.createObjectURL = createObjectURL;
        const canvas = new OffscreenCanvas(picture.width, picture.height);
        const context = canvas.getContext("2d");
        context.drawImage(picture, 0, 0);
        const { data } = context.getImageData(0, 0, picture.width, picture.height);
        const pixels = new Uint32Array(data.buffer);
        const isDrawn = (top, bottom) =>
          pixels
            .subarray(top * picture.width, bottom * picture.width)
            .some((pixel) => pixel !== pixels[0]);
        return {
          size: [picture.width, picture.height],
          background: `rgb(${data.slice(0, 3).join(", ")})`,
          expected: getComputedStyle(document.body).backgroundColor,
          // The title, the data, the histogram and the errors.
          drawn: [
            [40, 80],
            [92, 120],
            [160, 490],
            [540, 600],
          ].map(([top, bottom]) => isDrawn(top, bottom)),
          width: document.querySelector(".play-histogram").getAttribute("width"),
          room: Math.floor(document.querySelector(".play-histogram-place").clientWidth),
        };
      });
      assert.deepEqual(card.size, [1200, 630]);
      assert.equal(card.background, card.expected);
      assert.deepEqual(card.drawn, [true, true, true, true]);
      // The histogram of the page is as it was.
      assert.equal(Number(card.width), card.room);
      cards.push(card.background);
    }
    assert.notEqual(cards[0], cards[1]);
    assert.equal(
      await textOf(page, ".play-exports .play-note"),
      "Saved as zeropoint-playground.png.",
    );
    assert.deepEqual(await problems(), []);
    await close();
  });
});

describe("axe in the playground", () => {
  it(
    "finds nothing with tables open and two settings compared, in both themes",
    onceForAll,
    async () => {
      for (const colorScheme of ["light", "dark"]) {
        const hash = "?v=1&x=rows.12.16.42&a=s%3Dsymmetric%26b%3D4&s=affine&b=8&r=ends&lo=-1&hi=1";
        const { page, close } = await open(hash, { colorScheme });
        await page.$$eval("#play details:not(.keys)", (all) => {
          for (const details of all) details.open = true;
        });
        await click(page, "[data-export='cell']");
        await page.waitForSelector("#play .cell");
        assert.deepEqual(await axeViolations(page), [], colorScheme);
        await close();
      }
    },
  );
});
