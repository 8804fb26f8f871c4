// The Model Lab: opens a model file in a worker, shows what each scheme costs each layer, plans within a size, and
// writes the quantized file.

import { h, toDom } from "../shell/tree.js";
import { startLab } from "./client.js";
import { bytesText, isWritable, METRICS, nounText, timeText } from "./format.js";
import { fromLink, toLink } from "./link.js";
import { connectReport } from "./out/report-view.js";
import { connectShip } from "./out/ship-view.js";
import { openDrawer } from "./show/drawer.js";
import { LayerTable } from "./show/layer-table.js";
import { createPlanView } from "./show/plan-view.js";
import { createProgress } from "./show/progress.js";
import { drawStrip } from "./show/strip.js";
import { skeleton } from "./skeleton.js";

/** @typedef {import("./show/layer-table.js").Layer} Layer */

/**
 * @param {HTMLElement} view
 * @param {(message: string) => void} announce
 */
export function connectLab(view, announce) {
  const root = /** @type {HTMLElement} */ (view.querySelector(".lab"));
  root.replaceChildren(...skeleton().map((part) => toDom(part)));
  root.hidden = false;
  new Lab(root, announce);
}

class Lab {
  #root;
  #announce;
  #client = startLab((message) => this.#fail(`The lab's worker ended: ${message}`));
  #state = fromLink(location.hash, Object.keys(METRICS));
  /** @type {any} */
  #header;
  /** @type {Map<string, Layer>} */
  #layers = new Map();
  /** @type {any[]} */
  #rows = [];
  /** @type {string[]} */
  #schemes = [];
  /** @type {any} */
  #plan;
  /** @type {AbortController | undefined} */
  #analysis;
  #isDrawing = false;
  #table;
  #planView;
  #progress;
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
    });
    this.#planView = createPlanView(this.#find(".lab-frontier"), {
      onBudget: (budget) => {
        this.#remember({ budget });
        this.#replan();
      },
    });
    this.#progress = createProgress(this.#find(".lab-progress"));
    this.#connectOpening();
    this.#connectControls();
    this.#ship = connectShip(this.#find(".lab-ship"), {
      call: (argument, options) => this.#client.call("quantize", argument, options),
      current: () => ({ header: this.#header, plan: this.#plan }),
      onFormat: () => this.#updatePlan(),
      announce,
    });
    connectReport(this.#find(".lab-report"), {
      current: () => ({
        header: this.#header,
        rows: this.#rows,
        plan: this.#plan,
        pins: this.#state.pins,
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
    const drop = this.#find(".lab-drop");
    const input = /** @type {HTMLInputElement} */ (this.#find(".lab-drop input"));
    input.addEventListener("change", () => this.#open([...(input.files ?? [])], undefined));
    for (const type of ["dragenter", "dragover"]) {
      drop.addEventListener(type, (event) => {
        event.preventDefault();
        drop.classList.add("is-over");
      });
    }
    drop.addEventListener("dragleave", () => drop.classList.remove("is-over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("is-over");
      this.#open([...(event.dataTransfer?.files ?? [])], undefined);
    });
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
    this.#find("[data-action='cancel']").addEventListener("click", () => {
      this.#analysis?.abort(new DOMException("Stopped.", "AbortError"));
    });
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
    this.#analysis?.abort(new DOMException("Another file was opened.", "AbortError"));
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
    this.#root.classList.remove("is-analyzed", "is-planned");
    this.#rows = [];
    this.#schemes = [];
    this.#plan = undefined;
    this.#layers = new Map();
    this.#showHeader();
    this.#draw();
    this.#announce(
      `${this.#header.name} is open: ${nounText(this.#header.tensors.length, "tensor")}.`,
    );
    await this.#analyze();
  }

  #showHeader() {
    const { name, size, format, metadata, tensors } = this.#header;
    const parameters = tensors.reduce(
      (/** @type {number} */ sum, /** @type {any} */ { shape }) =>
        sum + shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1),
      0,
    );
    const dtypes = [...new Set(tensors.map((/** @type {any} */ { dtype }) => dtype))].join(", ");
    this.#find(".lab-name").textContent = name;
    this.#find(".lab-facts").textContent = [
      format,
      nounText(tensors.length, "tensor"),
      `${parameters.toLocaleString("en")} parameters`,
      dtypes,
      bytesText(size),
    ].join(" · ");
    const details = this.#find(".lab-metadata");
    details.hidden = metadata.length === 0;
    const list = h(
      "dl",
      {},
      metadata.map((/** @type {[string, string]} */ [key, text]) =>
        h("div", {}, h("dt", {}, key), h("dd", {}, text)),
      ),
    );
    details.replaceChildren(
      toDom(h("summary", {}, nounText(metadata.length, "line"), " of metadata")),
      toDom(list),
    );
    this.#drawStrip();
  }

  #drawStrip() {
    const bytesAfter = new Map(
      this.#plan
        ? this.#rows
            .filter(({ name, scheme }) => this.#plan.schemes[name] === scheme)
            .map(({ name, bytes }) => [name, bytes])
        : [],
    );
    const tensors = this.#header.tensors.map((/** @type {any} */ { name, byteLength }) => ({
      name,
      byteLength,
      bytesAfter: bytesAfter.get(name),
      isKept: this.#rows.length > 0 && !this.#layers.has(name),
    }));
    drawStrip(this.#find(".lab-strip"), tensors, (name) => this.#table.show(name));
  }

  async #analyze() {
    this.#analysis?.abort(new DOMException("Started again.", "AbortError"));
    const controller = new AbortController();
    this.#analysis = controller;
    this.#rows = [];
    this.#layers = new Map();
    this.#plan = undefined;
    this.#root.classList.add("is-analyzing");
    this.#progress.start();
    try {
      await this.#client.call(
        "analyzeAll",
        {},
        {
          signal: controller.signal,
          onEvent: ({ row, progress }) => {
            if (row) this.#take(row);
            if (progress) this.#progress.show(progress);
          },
        },
      );
      this.#root.classList.add("is-analyzed");
      const seconds = this.#progress.end();
      const text = `${nounText(this.#layers.size, "layer")} analyzed in ${timeText(seconds)}; every figure is exact.`;
      this.#find(".lab-status").textContent = text;
      this.#announce(text);
      this.#draw();
      await this.#updatePlan();
    } catch (error) {
      if (this.#analysis !== controller) return;
      this.#progress.end();
      const { name, message } = /** @type {Error} */ (error);
      if (name === "AbortError") this.#find(".lab-status").textContent = message;
      else this.#fail(problemText(/** @type {any} */ (error), this.#header?.name ?? ""));
    } finally {
      if (this.#analysis === controller) {
        this.#analysis = undefined;
        this.#root.classList.remove("is-analyzing");
      }
    }
  }

  /** Takes a row of the analysis; draws at most once a frame. @param {any} row */
  #take(row) {
    this.#rows.push(row);
    if (row.scheme === "keep") return;
    if (!this.#schemes.includes(row.scheme)) this.#schemes.push(row.scheme);
    let layer = this.#layers.get(row.name);
    if (!layer) {
      const { byteLength = row.bytes } =
        this.#header.tensors.find((/** @type {any} */ { name }) => name === row.name) ?? {};
      layer = { name: row.name, shape: row.shape, byteLength, rows: new Map() };
      this.#layers.set(row.name, layer);
    }
    layer.rows.set(row.scheme, row);
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#draw();
    });
  }

  #draw() {
    const { metric, filter, sort } = this.#state;
    for (const layer of this.#layers.values()) {
      layer.planned = this.#plan?.schemes[layer.name];
      layer.isPinned = Object.hasOwn(this.#state.pins, layer.name);
    }
    const layers = [...this.#layers.values()];
    this.#table.update({ layers, schemes: this.#schemes, metric, filter, sort });
    this.#find("[data-action='unpin']").hidden = Object.keys(this.#state.pins).length === 0;
  }

  /** The frontier for the present pins, and the plan on it. */
  async #updatePlan() {
    if (!this.#root.classList.contains("is-analyzed") || this.#layers.size === 0) return;
    try {
      const points = await this.#client.call("frontierOf", {
        pins: this.#state.pins,
        format: this.#ship.outputFormat(),
      });
      this.#planView.setFrontier(points, this.#uniforms());
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

  /** Size and error of each scheme, if all layers had it. */
  #uniforms() {
    const layers = [...this.#layers.values()];
    const parameters = this.#rows.filter(({ scheme }) => scheme === "keep");
    const kept = parameters.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#schemes
      .filter((scheme) => isWritable(this.#ship.outputFormat(), scheme))
      .filter((scheme) => layers.every(({ rows }) => rows.has(scheme)))
      .map((name) => {
        const rows = layers.map((layer) => layer.rows.get(name));
        const bytes = rows.reduce((sum, row) => sum + row.bytes, kept);
        const error = rows.reduce((sum, row) => sum + row.share * row.relative, 0);
        return { name, bytes, error };
      });
  }

  async #replan() {
    const { budget, pins } = this.#state;
    if (budget === undefined) return;
    try {
      const plan = await this.#client.call("planFor", {
        bytes: budget,
        pins,
        format: this.#ship.outputFormat(),
      });
      if (budget !== this.#state.budget) return;
      this.#plan = plan;
      this.#fail("");
      this.#planView.show(plan, this.#header.size);
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
    const scheme = given ?? layer.planned ?? this.#schemes[0];
    if (!scheme || scheme === "keep") return;
    const { pins } = this.#state;
    const isPinned = Object.hasOwn(pins, layer.name);
    const dialog = /** @type {HTMLDialogElement} */ (this.#find(".lab-drawer"));
    dialog.onclose = () => this.#table.focusCell();
    openDrawer(
      dialog,
      { name: layer.name, scheme, isPinned, planned: layer.planned },
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
