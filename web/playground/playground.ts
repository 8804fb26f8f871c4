// The playground: data, settings, and views of what the worker computes for them.

import { formatNumber } from "../shell/drawing/numbers.js";
import { toDom } from "../shell/drawing/tree.js";
import { makeScrollable } from "../shell/scrollable.js";
import { Controls } from "./controls.js";
import { connectData } from "./data/data-panel.js";
import { type Data, Engine, type Shown } from "./engine.js";
import { connectExports } from "./exports/panel.js";
import { readLink, writeLink } from "./link.js";
import { damageTree, playTree } from "./play-tree.js";
import {
  type Asked,
  DEFAULTS,
  FIRST_SOURCE,
  isBlock,
  limitsOf,
  type Settings,
  type Source,
} from "./state.js";
import { showMetrics } from "./views/compare.js";
import { CurvesView } from "./views/curves.js";
import { sliceOf } from "./views/geometry.js";
import { Grids, type Panel } from "./views/grids.js";
import { Histogram } from "./views/histogram.js";
import { showElement } from "./views/inspector.js";
import { extremesOf, levelsOf } from "./views/levels.js";
import { SchemeTable } from "./views/scheme-table.js";
import "./playground.css";
import "./views/views.css";
import { find } from "../shell/dom.js";

const REST = 250; // milliseconds without a change, after which the link is written

export class Playground {
  view: HTMLElement;
  announce: (message: string) => void;
  status;
  damage;
  metrics;
  inspector;
  controls;
  dataPanel;
  histogram;
  grids;
  curves;
  schemes;
  engine;
  place;
  showButtons = () => {};
  settings: Settings = DEFAULTS;
  other: Settings | undefined;
  source: Source = FIRST_SOURCE;
  /** The source requested from the worker, until its data arrives. */
  #asked: Asked | undefined;
  data: Data | undefined;
  result: Shown | undefined;
  otherResult: Shown | undefined;
  /** The settings of the next request; at most one request is sent per frame. */
  #isWaiting = false;
  #linkTimer: ReturnType<typeof setTimeout> | undefined;
  /** The link that was last written to the address. */
  #link = "";
  /** The link of what is shown in the place of a damaged one. */
  #instead: string | undefined;
  #isSelecting = false;

  constructor(view: HTMLElement, announce: (message: string) => void) {
    this.view = view;
    this.announce = announce;
    const place = find(view, ".play");
    place.replaceChildren(toDom(damageTree()), toDom(playTree()));
    this.status = find(place, ".play-status");
    this.damage = find(place, ".play-damage");
    this.metrics = find(place, ".play-metrics-place");
    this.inspector = find(place, ".play-inspector");
    this.controls = new Controls(find(place, ".play-controls", HTMLFormElement), (settings) =>
      this.set(this.#begunByHand(settings)),
    );
    this.dataPanel = connectData(view, (source) => this.#take(source));
    this.histogram = new Histogram(find(place, ".play-histogram-place"), (low, high) =>
      this.set({ ...this.settings, range: "ends", low, high }),
    );
    this.grids = new Grids(find(place, ".play-elements"), (element) => this.#showElement(element));
    this.curves = new CurvesView(find(place, ".play-curves"));
    this.schemes = new SchemeTable(find(place, ".play-schemes-place"), (settings) =>
      this.set(settings),
    );
    this.#connectInspector();
    this.#connectCompare(find(place, ".play-summary"));
    connectExports(find(place, ".play-exports"), this);
    this.engine = new Engine({
      ready: (abilities) => {
        this.controls.abilities = abilities;
        this.controls.show(this.settings);
      },
      data: (data) => this.#showData(data),
      result: (result) => this.#showResult(result),
      other: (result) => this.#showOther(result),
      curves: (curves) => this.data && this.curves.show(curves, this.settings, this.data.shape),
      schemes: (rows) => {
        this.schemes.show(rows);
        this.schemes.markCurrent(this.settings);
        place.dataset.complete = "";
      },
      unreadable: (problem) => {
        this.#asked = undefined;
        this.dataPanel.showError(problem);
      },
      error: ({ message }) => this.#say(message),
      failed: (message) => this.#say(message),
    });
    this.place = place;
    place.hidden = false;
    makeScrollable(place);
    addEventListener("hashchange", () => this.#followLink());
  }

  #connectInspector() {
    const input = find(this.inspector, "input", HTMLInputElement);
    input.addEventListener("input", () => {
      const element = Number(input.value);
      const isThere = input.value !== "" && element < (this.data?.values.length ?? 0);
      if (isThere && Number.isInteger(element) && element >= 0) this.grids.select(element);
    });
  }

  #connectCompare(summary: HTMLElement) {
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

  set(settings: Settings) {
    this.settings = settings;
    this.#update();
  }

  /** Initializes ends, scale and zero point set by hand with the current values. */
  #begunByHand(settings: Settings): Settings {
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

  #take(source: Asked) {
    this.#asked = source;
    if (source.kind === "generated") this.source = source;
    this.#update();
  }

  /** Asks the worker once a frame at most, with the newest settings. */
  #update() {
    this.controls.show(this.settings);
    this.schemes.markCurrent(this.settings);
    this.showButtons();
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    queueMicrotask(() => {
      this.#isWaiting = false;
      this.#ask();
    });
  }

  #ask() {
    delete this.place?.dataset.complete;
    const { settings, other } = this;
    this.engine.ask({ source: this.#asked, settings, other });
  }

  #showData(data: Data) {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked && asked.kind !== "generated") {
      const { values, shape } = data;
      const pasted = asked.kind === "given" ? asked.name : "pasted";
      const name = asked.kind === "file" ? asked.file.name : pasted;
      this.source = { kind: "given", name, values, shape };
    }
    this.data = data;
    this.dataPanel.show(this.source);
  }

  #showResult({ settings, evaluation, error }: Shown) {
    const { data } = this;
    if (!data) return;
    this.result = { settings, evaluation, error };
    if (!this.other) this.#showAll();
    else this.#say("");
    this.#writeLinkSoon();
  }

  #showOther(message: Shown) {
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
    const panels: Panel[] = [
      { name: "Value", meaning: "real", data: values, least: low, greatest: high },
      ...(codes
        ? [
            {
              name: "Code",
              meaning: "code" as const,
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

  #showElement(element: number) {
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

  #showHistogram(element: number) {
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

  /** Says that the link is damaged, until it is another one. */
  #sayDamage(message: string) {
    this.damage.textContent = message;
    this.damage.hidden = message === "";
    this.#instead = undefined;
  }

  #say(message: string) {
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

export async function connectPlayground(view: HTMLElement, announce: (message: string) => void) {
  await new Playground(view, announce).start();
}
