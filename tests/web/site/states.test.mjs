// axe in every state of the playground, the lab, the search, the measurement and a notebook: empty, loaded, running, done, failed,
// with everything open that can be: by all rules in the light theme, by those of colour in the dark one.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { axeViolations, onceForAll, RULES_OF_COLOUR } from "../axe.mjs";
import { openFile, waitForPlan } from "../lab/pages.mjs";
import { inWholeSuite, openPage, typeInto, waitFor } from "../page.mjs";
import { browser, site } from "../site-and-browser.mjs";

const temporary = (name, content) => {
  const path = join(tmpdir(), `zeropoint-states-${process.pid}-${name}`);
  writeFileSync(path, content);
  return path;
};
const broken = temporary("broken.safetensors", "no model");
const noInputs = temporary("other.npy", "no array");

/** Found and pressed in one step: between two the page may draw the element again. */
const press = (page, selector) =>
  page.evaluate((wanted) => document.querySelector(wanted).click(), selector);
const there = (page, selector) => page.waitForSelector(selector);
const openAll = (page) =>
  page.$$eval(".view[data-current] details", (all) => {
    for (const details of all) details.open = true;
  });
const NOTEBOOK = "#quantize-and-dequantize";
const cell = (number) => `[id="quantize-and-dequantize-cell-${number}"]`;

/** Runs a cell of other code than its own. */
async function runCode(page, number, source) {
  await typeInto(page, cell(number), source);
  await press(page, `${cell(number)} button.run`);
}

/** By their address: names of states, each with what leads to it from the one before. */
const STATES = {
  "#overview": { "first seen": () => {} },
  [NOTEBOOK]: {
    "before a run": (page) => there(page, `${NOTEBOOK}[data-current] .toolbar:not([hidden])`),
    "with everything open": openAll,
    running: async (page) => {
      await runCode(page, 1, "for (;;);");
      await there(page, `${cell(1)}[data-state="running"]`);
    },
    stopped: async (page) => {
      await press(page, ".view[data-current] [data-action='stop']");
      await there(page, `${cell(1)}[data-state="stopped"]`);
    },
    failed: async (page) => {
      await runCode(page, 1, "nothing.shape");
      await there(page, `${cell(1)} .cell-error`);
    },
    "with heat maps": async (page) => {
      await runCode(
        page,
        1,
        'import { torch, linear_q_with_scale_and_zero_point, linear_dequantization, plot_quantization_errors } from "zeropoint/notebook";\nlet x = torch.randn([4, 4]);\nlet q = linear_q_with_scale_and_zero_point(x, 0.1, 0);\nplot_quantization_errors(x, q, linear_dequantization(q, 0.1, 0));',
      );
      await there(page, `${cell(1)} svg.heat-map`);
      await openAll(page);
    },
    "with the heat maps of a large tensor": async (page) => {
      await runCode(
        page,
        1,
        'import { torch, linear_q_with_scale_and_zero_point, linear_dequantization, plot_quantization_errors } from "zeropoint/notebook";\nlet x = torch.randn([40, 60]);\nlet q = linear_q_with_scale_and_zero_point(x, 0.1, 0);\nplot_quantization_errors(x, q, linear_dequantization(q, 0.1, 0));',
      );
      await there(page, `${cell(1)} canvas.heat-map`);
    },
    "with a line chart": async (page) => {
      await runCode(
        page,
        1,
        'plotLines({ title: "t", x: "x", y: "y", series: [{ name: "a", points: [[0, 1], [1, 2]] }, { name: "b", points: [[0, 2], [1, 0]] }] });',
      );
      await there(page, `${cell(1)} .plot-legend, ${cell(1)} figure`);
      await openAll(page);
    },
    "with a wrong answer to an exercise": async (page) => {
      await press(page, ".view[data-current] .exercise [data-action='check']");
      await there(
        page,
        ".view[data-current] .exercise :is(.verdict, .exercise-verdict, [data-verdict], .cell-error)",
      );
      await openAll(page);
    },
  },
  "#play": {
    "of the first data": (page) => there(page, "#play .play[data-complete]"),
    "with everything open": openAll,
    "with A kept": async (page) => {
      await press(page, "#play [data-action='keep']");
      await there(page, "#play [data-action='swap']:not([hidden])");
    },
    "of data that cannot be read": async (page) => {
      await page.$eval("#play textarea", (text) => {
        text.value = "1 2 x";
        text.form.requestSubmit();
      });
      await new Promise((resolve) => setTimeout(resolve, 500));
    },
  },
  "#play?v=1&s=q4_k&x=rows.8.256.1": {
    "of blocks": (page) => there(page, "#play .play[data-complete]"),
  },
  "#play?v=1&d=4x4.damaged&s=symmetric": {
    "of a damaged link": (page) => there(page, "#play .play-damage:not([hidden])"),
  },
  "#lab": {
    empty: (page) => there(page, ".view[data-current] .lab:not([hidden])"),
    "after a file that is none": async (page) => {
      await openFile(page, broken);
      await there(page, ".lab-problem:not([hidden])");
    },
  },
  "#lab?sample=digits.safetensors": {
    planned: (page) => there(page, ".lab.is-analyzed.is-planned .frontier-box svg"),
    "with everything open": openAll,
    "with the details of a cell": async (page) => {
      await press(page, ".layer-body .is-scheme:not(.is-empty)");
      await there(page, ".lab-drawer[open] .detail-actions");
    },
    "with a pin": async (page) => {
      await press(page, ".lab-drawer [data-pin='keep']");
      await there(page, "[data-action='unpin']:not([hidden])");
    },
    "with inputs that are not used": async (page) => {
      await (await page.$(".lab-inputs input")).uploadFile(noInputs);
      await there(page, ".lab-inputs-list .is-refused");
    },
    "for a target that lacks schemes": async (page) => {
      await page.select("[name='target']", "mlx");
      await there(page, ".layer-body .is-unwritten");
    },
    "with commands": async (page) => {
      await press(page, "[data-report='command']");
      await there(page, ".lab-command:not([hidden])");
    },
    written: async (page) => {
      // Another plan, of exact figures, disables the button for a moment.
      await waitForPlan(page);
      await there(page, "[data-action='write']:not(:disabled)");
      await press(page, "[data-action='write']");
      await there(page, ".lab-written a[download]");
      await openAll(page);
    },
    "filtered to nothing": async (page) => {
      await page.focus("[name='filter']");
      await page.keyboard.type("nothing");
      await waitFor(page, () =>
        document.querySelector(".lab-shows").textContent.startsWith("No name"),
      );
    },
  },
  "#measure": {
    "before a run": (page) => there(page, "#measure[data-current] button"),
    running: async (page) => {
      await press(page, "[data-action='measure']");
      await there(page, ".measure[data-running]");
    },
    stopped: async (page) => {
      await press(page, "#measure [data-action='stop']");
      await there(page, ".measure:not([data-running]) .measure-status:not(:empty)");
    },
  },
  "#search": {
    empty: (page) => there(page, ".view[data-current] .search:not([hidden])"),
    "with files that are none": async (page) => {
      await (await page.$(".search-own input")).uploadFile(broken);
      await there(page, ".search-problem:not([hidden])");
    },
  },
};

describe("axe", inWholeSuite, () => {
  const rulesByTheme = { light: undefined, dark: RULES_OF_COLOUR };
  for (const [colorScheme, rules] of Object.entries(rulesByTheme)) {
    for (const [hash, states] of Object.entries(STATES)) {
      describe(`in the ${colorScheme} theme, at ${hash}`, onceForAll, () => {
        let visit;
        before(async () => {
          visit = await openPage(browser, site.url + hash, {
            colorScheme,
            prepare: () => Reflect.deleteProperty(window, "showSaveFilePicker"),
          });
        });
        after(() => visit?.close());

        for (const [state, reach] of Object.entries(states)) {
          it(`finds nothing ${state}`, async () => {
            await reach(visit.page);
            assert.deepEqual(await axeViolations(visit.page, rules), []);
          });
        }
      });
    }
  }
});
