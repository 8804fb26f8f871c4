// The Model Lab: opens a model file in a worker, shows what each scheme costs each layer, plans within a size, and
// writes the quantized file.

import { turn } from "../shell/slices.js";
import { toDom } from "../shell/tree.js";
import { startLab } from "./client.js";
import { connectDrop } from "./drop.js";
import { METRICS, nounText } from "./format.js";
import { Layers } from "./layers.js";
import { fromLink, toLink } from "./link.js";
import { connectReport } from "./out/report-view.js";
import { connectShip } from "./out/ship-view.js";
import { keptByReason, reasonOf } from "./reasons.js";
import { openDrawer } from "./show/drawer.js";
import { showHeader } from "./show/header.js";
import { connectInputs } from "./show/inputs-view.js";
import { showKept } from "./show/kept.js";
import { LayerTable } from "./show/layer-table.js";
import { createPlanView } from "./show/plan-view.js";
import { createProgress, REPLACED } from "./show/progress.js";
import { drawStrip } from "./show/strip.js";
import { skeleton } from "./skeleton.js";

/** @typedef {import("./layers.js").Layer} Layer */

/**
 * @param {HTMLElement} view
 * @param {(message: string) => void} announce
 */
export async function connectLab(view, announce) {
  const root = /** @type {HTMLElement} */ (view.querySelector(".lab"));
  root.replaceChildren(...skeleton().map((part) => toDom(part)));
  await turn();
  new Lab(root, announce);
  root.hidden = false;
}

/** Milliseconds between drawings of the table while rows come in. */
const REDRAW = 150;

class Lab {
  #root;
  #announce;
  #client = startLab((message) => this.#fail(`The lab's worker ended: ${message}`));
  #state = fromLink(location.hash, Object.keys(METRICS));
  /** @type {any} */
  #header;
  #layers = new Layers([]);
  /** @type {any} */
  #plan;
  #isDrawing = false;
  #table;
  #planView;
  #progress;
  #inputs;
  #ship;

  /**
   * @param {HTMLElement} root
   * @param {(message: string) => void} announce
   */
  constructor(root, announce) {
    this.#root = root;
    this.#announce = announce;
    this.#table = new LayerTable(this.#find(".lab-table"), {
      onOpen: (layer, scheme) => this.#openCell(layer, scheme),
      onSort: (sort) => this.#remember({ sort }),
      reasonOf: (layer) => reasonOf(layer, this.#plan),
    });
    this.#planView = createPlanView(this.#find(".lab-frontier"), {
      onBudget: (budget) => {
        this.#remember({ budget });
        this.#replan();
      },
    });
    this.#progress = createProgress(this.#find(".lab-progress"), { announce });
    this.#inputs = connectInputs(this.#find(".lab-inputs"), {
      call: this.#client.call,
      announce,
      onWeights: (names) => this.#analyze(names),
      onProblem: (message) => this.#fail(message),
    });
    this.#connectOpening();
    this.#connectControls();
    this.#ship = connectShip(this.#find(".lab-ship"), {
      call: (argument, options) => this.#client.call("quantize", argument, options),
      current: () => ({ header: this.#header, plan: this.#plan }),
      onWrite: () => this.#progress.stop("Stopped, to write the file."),
      onFormat: () => this.#updatePlan(),
      announce,
    });
    connectReport(this.#find(".lab-report"), {
      current: () => ({
        header: this.#header,
        rows: this.#layers.rows,
        plan: this.#plan,
        pins: this.#state.pins,
        ...this.#ship.choice(),
      }),
    });
    if (this.#state.sample) this.#openSample(this.#state.sample);
  }

  /** @param {string} selector @returns {HTMLElement} */
  #find(selector) {
    return /** @type {HTMLElement} */ (this.#root.querySelector(selector));
  }

  /** Keeps a change of the state in the address. @param {Partial<import("./link.js").LabState>} change */
  #remember(change) {
    Object.assign(this.#state, change);
    history.replaceState(history.state, "", toLink(this.#state));
  }

  /** @param {string} message */
  #fail(message) {
    const element = this.#find(".lab-problem");
    element.textContent = message;
    element.hidden = message === "";
    if (message) this.#announce(message);
  }

  #connectOpening() {
    const input = /** @type {HTMLInputElement} */ (this.#find(".lab-drop input"));
    // Anywhere in the lab: a drop beside the box would make the browser leave the page.
    connectDrop(this.#root, input, (files) => this.#open(files, undefined));
    this.#root.addEventListener("click", ({ target }) => {
      const sample = /** @type {Element} */ (target)
        .closest("[data-sample]")
        ?.getAttribute("data-sample");
      if (sample) this.#openSample(sample);
    });
  }

  #connectControls() {
    const metric = /** @type {HTMLSelectElement} */ (this.#find("[name='metric']"));
    metric.value = this.#state.metric;
    metric.addEventListener("change", () => {
      this.#remember({ metric: /** @type {import("./format.js").Metric} */ (metric.value) });
      this.#draw();
    });
    const filter = /** @type {HTMLInputElement} */ (this.#find("[name='filter']"));
    filter.value = this.#state.filter;
    filter.addEventListener("input", () => {
      this.#remember({ filter: filter.value });
      this.#draw();
    });
    this.#find("[data-action='analyze']").addEventListener("click", () => this.#analyze());
    this.#find("[data-action='unpin']").addEventListener("click", () => {
      this.#remember({ pins: {} });
      this.#updatePlan();
    });
  }

  /** @param {string} name */
  async #openSample(name) {
    try {
      const { loadSample } = await import("./samples.js");
      await this.#open([await loadSample(name)], name);
    } catch (error) {
      this.#fail(/** @type {Error} */ (error).message);
    }
  }

  /**
   * @param {File[]} files
   * @param {string | undefined} sample
   */
  async #open(files, sample) {
    if (files.length === 0) return;
    this.#progress.stop(REPLACED);
    this.#fail("");
    if (this.#header) this.#remember({ budget: undefined, pins: {} });
    this.#remember({ sample });
    try {
      this.#header = await this.#client.call("open", { files });
    } catch (error) {
      this.#header = undefined;
      this.#root.classList.remove("is-open");
      this.#fail(problemText(/** @type {any} */ (error), files[0].name));
      return;
    }
    this.#root.classList.add("is-open");
    this.#layers = new Layers(this.#header.tensors);
    this.#plan = undefined;
    this.#inputs.reset(this.#header.inputs);
    this.#ship.refresh();
    showHeader(this.#find(".lab-file"), this.#header);
    this.#drawStrip();
    this.#draw();
    this.#announce(
      `${this.#header.name} is open: ${nounText(this.#header.tensors.length, "tensor")}.`,
    );
    await this.#analyze();
  }

  #drawStrip() {
    const bytesAfter = new Map(
      this.#plan
        ? this.#layers.rows
            .filter(({ name, scheme }) => this.#plan.schemes[name] === scheme)
            .map(({ name, bytes }) => [name, bytes])
        : [],
    );
    const tensors = this.#header.tensors.map((/** @type {any} */ { name, byteLength }) => ({
      name,
      byteLength,
      bytesAfter: bytesAfter.get(name),
      isKept: this.#plan !== undefined && !this.#layers.has(name),
    }));
    drawStrip(this.#find(".lab-strip"), tensors, (name) => this.#table.show(name));
  }

  /** @param {string[]} [names]  of the weights to analyze again; default: all */
  async #analyze(names) {
    // Rows of a part replace those of a whole analysis only.
    const part = this.#root.classList.contains("is-analyzed") ? names : undefined;
    if (!part) this.#layers = new Layers(this.#header.tensors);
    this.#plan = undefined;
    this.#root.classList.remove("is-analyzed", "is-planned");
    this.#root.classList.add("is-analyzing");
    this.#find(".lab-status").textContent = "";
    const run = this.#progress.start();
    try {
      await this.#client.call(
        "analyzeAll",
        { names: part },
        {
          ...run,
          onEvent: ({ row, progress, isSampled }) => {
            if (row) this.#take(row);
            if (isSampled) this.#updatePlan();
            if (progress)
              this.#progress.show(progress, progress.isSample ? "A sample of each layer" : "");
          },
        },
      );
      this.#root.classList.add("is-analyzed");
      this.#finish(`${nounText(this.#layers.size, "layer")} analyzed; every figure is exact.`);
      await this.#updatePlan();
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (run.signal.aborted && run.signal.reason.message === REPLACED) return;
      if (name !== "AbortError")
        this.#fail(problemText(/** @type {any} */ (error), this.#header?.name ?? ""));
      this.#finish(name === "AbortError" ? message : "");
    }
  }

  /** The end of an analysis. @param {string} message */
  #finish(message) {
    const hadFocus = this.#progress.end();
    this.#root.classList.remove("is-analyzing");
    if (hadFocus) this.#find("[data-action='analyze']").focus();
    this.#find(".lab-status").textContent = message;
    this.#announce(message);
    this.#draw();
  }

  /** Takes a row of the analysis, and draws a few times a second. @param {any} row */
  #take(row) {
    this.#layers.take(row);
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    setTimeout(() => {
      this.#isDrawing = false;
      this.#draw();
    }, REDRAW);
  }

  #draw() {
    const { metric, filter, sort } = this.#state;
    const layers = this.#layers.all;
    for (const layer of layers) {
      layer.planned = this.#plan?.schemes[layer.name];
      layer.isPinned = Object.hasOwn(this.#state.pins, layer.name);
    }
    this.#table.update({ layers, schemes: this.#layers.schemes, metric, filter, sort });
    this.#find(".lab-shows").textContent = showsText(this.#layers.counts);
    this.#find("[data-action='unpin']").hidden = Object.keys(this.#state.pins).length === 0;
  }

  /** The frontier for the present pins, and the plan on it. */
  async #updatePlan() {
    if (this.#layers.size === 0) return;
    const header = this.#header;
    try {
      const { points, uniforms } = await this.#client.call("frontierOf", {
        pins: this.#state.pins,
        format: this.#ship.outputFormat(),
      });
      if (header !== this.#header) return;
      this.#planView.setFrontier(points, uniforms);
      const middle = points[Math.floor(points.length / 2)];
      const { budget } = this.#state;
      const [least] = points;
      if (middle && (budget === undefined || budget < least.bytes))
        this.#state.budget = middle.bytes;
      await this.#replan();
      this.#root.classList.add("is-planned");
    } catch (error) {
      this.#fail(/** @type {Error} */ (error).message);
    }
  }

  async #replan() {
    const { budget, pins } = this.#state;
    if (budget === undefined) return;
    const header = this.#header;
    try {
      const { plan, isEstimate } = await this.#client.call("planFor", {
        bytes: budget,
        pins,
        format: this.#ship.outputFormat(),
      });
      if (budget !== this.#state.budget || header !== this.#header) return;
      this.#plan = plan;
      this.#fail("");
      this.#planView.show({ ...plan, isEstimate }, this.#header.size);
      showKept(this.#find(".lab-kept"), keptByReason(this.#layers.rows));
      this.#draw();
      this.#drawStrip();
    } catch (error) {
      this.#fail(/** @type {Error} */ (error).message);
    }
  }

  /**
   * @param {Layer} layer
   * @param {string | undefined} given
   */
  #openCell(layer, given) {
    const scheme = given ?? layer.planned ?? this.#layers.schemes[0];
    if (!scheme || scheme === "keep") return;
    const { pins } = this.#state;
    const isPinned = Object.hasOwn(pins, layer.name);
    const dialog = /** @type {HTMLDialogElement} */ (this.#find(".lab-drawer"));
    dialog.onclose = () => this.#table.focusCell();
    openDrawer(
      dialog,
      {
        ...{ name: layer.name, scheme, isPinned, planned: layer.planned },
        reason: reasonOf(layer, this.#plan),
      },
      () => this.#client.call("detail", { name: layer.name, scheme }),
      {
        onPin: () => {
          const { [layer.name]: before, ...others } = pins;
          this.#remember({
            pins: before === scheme ? others : { ...others, [layer.name]: scheme },
          });
          this.#updatePlan();
        },
        onPlay: () => this.#play(layer, scheme),
      },
    );
  }

  /** @param {Layer} layer @param {string} scheme */
  async #play({ name }, scheme) {
    try {
      const corner = await this.#client.call("cornerOf", { name, scheme });
      const { playLink } = await import("./out/play-link.js");
      location.hash = await playLink(corner, scheme);
    } catch (error) {
      this.#fail(/** @type {Error} */ (error).message);
    }
  }
}

/** An error of a file as the reader gets it: where it breaks its format. @param {any} error @param {string} name */
function problemText({ message, offset, expected, found }, name) {
  if (offset === undefined) return message;
  return `${name}, byte ${Number(offset).toLocaleString("en")}: expected ${expected}, found ${found}.`;
}

/** Which errors the table shows. @param {{ layers: number, estimates: number, outputs: number }} counts */
function showsText({ layers, estimates, outputs }) {
  if (layers === 0) return "";
  const weights = layers - outputs;
  const shown = [
    outputs > 0 && `errors of the outputs of ${nounText(outputs, "layer")}`,
    weights > 0 && `errors of the weights of ${nounText(weights, "layer")}`,
  ];
  const text = shown.filter(Boolean).join(", ");
  return `Shown: ${text}${estimates > 0 ? `; ${estimates} of them estimated` : "; all exact"}.`;
}
