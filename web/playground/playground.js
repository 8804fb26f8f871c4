// The playground: data, settings, and views of what the worker computes for them.

import { formatNumber } from "../shell/drawing/numbers.js";
import { toDom } from "../shell/drawing/tree.js";
import { keepFiles } from "../shell/offline/offline.js";
import { makeScrollable } from "../shell/scrollable.js";
import { Controls } from "./controls.js";
import { connectData } from "./data/data-panel.js";
import { Engine } from "./engine.js";
import { connectExports } from "./exports/panel.js";
import { readLink, writeLink } from "./link.js";
import { damageTree, playTree } from "./play-tree.js";
import { DEFAULTS, FIRST_SOURCE, isBlock, limitsOf } from "./state.js";
import { showMetrics } from "./views/compare.js";
import { CurvesView } from "./views/curves.js";
import { sliceOf } from "./views/geometry.js";
import { Grids } from "./views/grids.js";
import { Histogram } from "./views/histogram.js";
import { showElement } from "./views/inspector.js";
import { extremesOf, levelsOf } from "./views/levels.js";
import { SchemeTable } from "./views/scheme-table.js";
import "./playground.css";
import "./views/views.css";

/**
 * @typedef {import("./state.js").Settings} Settings
 * @typedef {import("./state.js").Source} Source
 * @typedef {import("./worker/evaluate.js").Evaluation} Evaluation
 * @typedef {{ settings: Settings, evaluation: Evaluation, error: Float32Array }} Shown
 */

const REST = 250; // milliseconds without a change, after which the link is written

class Playground {
  /** @type {Settings} */
  settings = DEFAULTS;
  /** @type {Settings | undefined} */
  other;
  /** @type {Source} */
  source = FIRST_SOURCE;
  /** The source requested from the worker, until its data arrives. @type {any} */
  #asked;
  /** @type {{ values: Float32Array, shape: number[], histogram: import("./views/histogram.js").Counts } | undefined} */
  data;
  /** @type {Shown | undefined} */
  result;
  /** @type {Shown | undefined} */
  otherResult;
  /** The settings of the next request; at most one request is sent per frame. */
  #isWaiting = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #linkTimer;
  /** The link that was last written to the address. */
  #link = "";
  /** The link of what is shown in the place of a damaged one. @type {string | undefined} */
  #instead;
  #isSelecting = false;

  /**
   * @param {HTMLElement} view
   * @param {(message: string) => void} announce
   */
  constructor(view, announce) {
    this.view = view;
    this.announce = announce;
    const place = /** @type {HTMLElement} */ (view.querySelector(".play"));
    place.replaceChildren(toDom(damageTree()), toDom(playTree()));
    const find = (/** @type {string} */ selector) =>
      /** @type {HTMLElement} */ (place.querySelector(selector));
    this.status = find(".play-status");
    this.damage = find(".play-damage");
    this.metrics = find(".play-metrics-place");
    this.inspector = find(".play-inspector");
    this.controls = new Controls(
      /** @type {HTMLFormElement} */ (find(".play-controls")),
      (settings) => this.set(this.#begunByHand(settings)),
    );
    this.dataPanel = connectData(view, (source) => this.#take(source));
    this.histogram = new Histogram(find(".play-histogram-place"), (low, high) =>
      this.set({ ...this.settings, range: "ends", low, high }),
    );
    this.grids = new Grids(find(".play-elements"), (element) => this.#showElement(element));
    this.curves = new CurvesView(find(".play-curves"));
    this.schemes = new SchemeTable(find(".play-schemes-place"), (settings) => this.set(settings));
    this.#connectInspector();
    this.#connectCompare(find(".play-summary"));
    connectExports(find(".play-exports"), this);
    this.engine = new Engine({
      ready: ({ abilities, files }) => {
        keepFiles(files);
        this.controls.abilities = abilities;
        this.controls.show(this.settings);
      },
      data: (message) => this.#showData(message),
      result: (message) => this.#showResult(message),
      other: (message) => this.#showOther(message),
      curves: ({ curves }) => this.data && this.curves.show(curves, this.settings, this.data.shape),
      schemes: ({ rows }) => {
        this.schemes.show(rows);
        this.schemes.markCurrent(this.settings);
        place.dataset.complete = "";
      },
      error: (message) => this.#showError(message),
      failed: ({ message }) => this.#say(message),
    });
    this.place = place;
    place.hidden = false;
    makeScrollable(place);
    addEventListener("hashchange", () => this.#followLink());
  }

  #connectInspector() {
    const input = /** @type {HTMLInputElement} */ (this.inspector.querySelector("input"));
    input.addEventListener("input", () => {
      const element = Number(input.value);
      const isThere = input.value !== "" && element < (this.data?.values.length ?? 0);
      if (isThere && Number.isInteger(element) && element >= 0) this.grids.select(element);
    });
  }

  /** @param {HTMLElement} summary */
  #connectCompare(summary) {
    const buttons = Object.fromEntries(
      Array.from(summary.querySelectorAll("button"), (button) => [button.dataset.action, button]),
    );
    this.showButtons = () => {
      buttons.keep.textContent = this.other ? "Replace A" : "Keep as A";
      buttons.swap.hidden = !this.other;
      buttons.drop.hidden = !this.other;
    };
    buttons.keep.addEventListener("click", () => {
      this.other = this.settings;
      this.#update();
      this.announce("Kept as A. Change the settings to compare.");
    });
    buttons.swap.addEventListener("click", () => {
      const { other, settings } = this;
      if (!other) return;
      this.other = settings;
      this.set(other);
    });
    buttons.drop.addEventListener("click", () => {
      this.other = undefined;
      this.otherResult = undefined;
      buttons.keep.focus();
      this.#update();
    });
  }

  /** Reads the address. Without a state in it, opens the default data. */
  async start() {
    this.#link = location.hash;
    this.#sayDamage("");
    try {
      const { settings, other, source, unread } = await readLink(location.hash);
      this.settings = settings;
      this.other = other;
      this.#take(source);
      if (unread.length > 0) {
        this.#sayDamage(
          `This link has settings that do not apply (${unread.join(", ")}). The nearest that do are shown instead.`,
        );
      }
    } catch (error) {
      this.#take(FIRST_SOURCE);
      // Browsers say in their own words why data cannot be unpacked.
      const reason = error instanceof RangeError ? error.message : "its data cannot be unpacked";
      this.#sayDamage(
        `This link is damaged (${reason}). Data of the page itself is shown instead.`,
      );
    }
  }

  #followLink() {
    const isOwn = location.hash === this.#link || !location.hash.startsWith("#play?");
    if (!isOwn) this.start();
  }

  /** @param {Settings} settings */
  set(settings) {
    this.settings = settings;
    this.#update();
  }

  /**
   * Initializes ends, scale and zero point set by hand with the current values.
   * @param {Settings} settings
   * @returns {Settings}
   */
  #begunByHand(settings) {
    const { result } = this;
    const isNew = settings.range !== this.settings.range;
    if (!isNew || !result || isBlock(result.settings)) return settings;
    const { scales, zeroPoints } = result.evaluation;
    const levels = levelsOf(result.evaluation, limitsOf(result.settings), 0);
    const [low, high] = [levels[0], levels[levels.length - 1]].map(Math.fround);
    if (settings.range === "ends") return { ...settings, low, high };
    if (settings.range !== "qparams") return settings;
    const zeroPoint = settings.scheme === "symmetric" ? 0 : (zeroPoints[0] ?? 0);
    return { ...settings, scale: Number(scales[0].toPrecision(6)), zeroPoint };
  }

  /** @param {any} source */
  #take(source) {
    this.#asked = source;
    if (source.kind === "generated") this.source = source;
    this.#update();
  }

  /** Asks the worker once a frame at most, with the newest settings. */
  #update() {
    this.controls.show(this.settings);
    this.schemes.markCurrent(this.settings);
    this.showButtons?.();
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    queueMicrotask(() => {
      this.#isWaiting = false;
      this.#ask();
    });
  }

  #ask() {
    delete this.place?.dataset.complete;
    const asked = this.#asked;
    const settings = this.settings;
    /** @type {any} */
    const request = { settings, other: this.other };
    if (asked) {
      const { kind, values, shape, text, file } = asked;
      request.source =
        kind === "generated"
          ? { generated: { ...asked } }
          : kind === "text"
            ? { text }
            : kind === "file"
              ? { file }
              : { values, shape };
    }
    this.engine.ask(request);
  }

  /** @param {any} message */
  #showData({ values, shape, histogram }) {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked && asked.kind !== "generated") {
      const name = asked.kind === "file" ? asked.file.name : (asked.name ?? "pasted");
      this.source = { kind: "given", name, values, shape };
    }
    this.data = { values, shape, histogram };
    this.dataPanel.show(this.source);
  }

  /** @param {Shown} message */
  #showResult({ settings, evaluation, error }) {
    const { data } = this;
    if (!data) return;
    this.result = { settings, evaluation, error };
    if (!this.other) this.#showAll();
    else this.#say("");
    this.#writeLinkSoon();
  }

  /** @param {Shown} message */
  #showOther(message) {
    this.otherResult = message;
    this.#showAll();
  }

  #showAll() {
    const { data, result } = this;
    if (!data || !result) return;
    const { settings, evaluation, error } = result;
    const other = this.other ? this.otherResult : undefined;
    this.#say("");
    showMetrics(this.metrics, result, other);
    const { values, shape } = data;
    const { low, high } = data.histogram;
    const { codes, restored, metrics } = evaluation;
    const back = extremesOf(restored);
    const worst = Math.max(metrics.max, other?.evaluation.metrics.max ?? 0);
    /** @type {import("./views/grids.js").Panel[]} */
    const panels = [
      { name: "Value", meaning: "real", data: values, least: low, greatest: high },
      ...(codes
        ? [
            {
              name: "Code",
              meaning: /** @type {const} */ ("code"),
              data: codes,
              // Not the dtype's limits, for which the colours of few codes would hardly differ.
              ...extremesOf(codes),
              isBySize: settings.scheme === "symmetric",
            },
          ]
        : []),
      {
        name: "Restored",
        meaning: "real",
        data: restored,
        least: low,
        greatest: high,
        note: `${formatNumber(back.least)} to ${formatNumber(back.greatest)}`,
      },
      {
        name: other ? "Error of B" : "Error",
        meaning: "error",
        data: error,
        least: -worst,
        greatest: worst,
        note: `largest ${formatNumber(metrics.max)}`,
      },
    ];
    if (other) {
      const { max } = other.evaluation.metrics;
      const note = `largest ${formatNumber(max)}`;
      panels.push({
        name: "Error of A",
        meaning: "error",
        data: other.error,
        least: -worst,
        greatest: worst,
        note,
      });
    }
    this.grids.show(panels, shape);
  }

  /** @param {number} element */
  #showElement(element) {
    const { data, result } = this;
    if (!data || !result || element >= data.values.length) return;
    const { settings, evaluation, error } = result;
    const isSelected = element === this.grids.selected && this.#isSelecting;
    showElement(
      this.inspector,
      {
        element,
        shape: data.shape,
        value: data.values[element],
        code: evaluation.codes?.[element],
        restored: evaluation.restored[element],
        error: error[element],
        settings,
        evaluation,
        limits: limitsOf(settings),
      },
      isSelected || this.grids.place.contains(document.activeElement),
    );
    this.#showHistogram(element);
  }

  /** @param {number} element */
  #showHistogram(element) {
    const { data, result } = this;
    if (!data || !result) return;
    const { settings, evaluation } = result;
    const levels = isBlock(settings) ? [] : levelsOf(evaluation, limitsOf(settings), element);
    const isWhole = settings.granularity === "tensor";
    const unit = settings.granularity === "channel" ? "channel" : "group";
    this.histogram.show({
      counts: data.histogram,
      levels,
      low: levels[0] ?? data.histogram.low,
      high: levels.at(-1) ?? data.histogram.high,
      isWhole,
      canMove: isWhole && settings.scheme !== "float" && levels.length > 0,
      isSymmetric: settings.scheme === "symmetric",
      value: data.values[element],
      restored: evaluation.restored[element],
      levelsName: isBlock(settings)
        ? "each block has codes of its own"
        : isWhole
          ? `${levels.length} codes`
          : `${levels.length} codes of ${unit} ${sliceOf(evaluation.slices, element)}`,
    });
  }

  /** @param {any} message */
  #showError({ name, message, line, column, isData }) {
    const text = name === "ParseError" ? `${message}.` : message;
    if (isData) {
      this.#asked = undefined;
      this.dataPanel.showError({ message: text[0].toUpperCase() + text.slice(1), line, column });
    } else this.#say(text);
  }

  /** Says that the link is damaged, until it is another one. @param {string} message */
  #sayDamage(message) {
    this.damage.textContent = message;
    this.damage.hidden = message === "";
    this.#instead = undefined;
  }

  /** @param {string} message */
  #say(message) {
    if (this.status.textContent !== message) this.status.textContent = message;
  }

  #writeLinkSoon() {
    clearTimeout(this.#linkTimer);
    this.#linkTimer = setTimeout(async () => {
      const { hash } = await writeLink(this);
      if (!this.damage.hidden) {
        // The address of a damaged link stays, for the reader to repair, until there are changes to keep.
        this.#instead ??= hash;
        if (this.#instead === hash) return;
        this.#sayDamage("");
      }
      // The reader may have left this view in the meantime. The address says so first.
      if (!/^#play(\?|$)/.test(location.hash) || hash === location.hash) return;
      this.#link = hash;
      history.replaceState(history.state, "", hash);
    }, REST);
  }
}

/**
 * @param {HTMLElement} view
 * @param {(message: string) => void} announce
 */
export async function connectPlayground(view, announce) {
  await new Playground(view, announce).start();
}
