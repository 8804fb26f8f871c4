// The Model Lab: opens a model file, shows what each scheme costs each layer, plans within a size, and
// writes the quantized file.

import type { AnalysisRow, Plan } from "zeropoint/models";
import { find } from "../shell/dom.js";
import { nounText } from "../shell/drawing/numbers.js";
import { toDom } from "../shell/drawing/tree.js";
import { connectDrop } from "../shell/drop.js";
import { messageOf } from "../shell/message-of.js";
import { makeScrollable } from "../shell/scrollable.js";
import { turn } from "../shell/slices.js";
import { METRICS, type Metric } from "./format.js";
import { type Layer, Layers } from "./layers.js";
import { emptyState, fromLink, type LabState, toLink } from "./link.js";
import {
  analyzeAll,
  frontierOf,
  type Header,
  open,
  planFor,
  unusablePins,
} from "./model/commands.js";
import { cornerOf, detail } from "./model/detail.js";
import { type Given, mainOf, splitPair } from "./model/files.js";
import { areImportance } from "./model/importance.js";
import { valuesOf } from "./model/values.js";
import { quantize } from "./model/write.js";
import { connectCompare } from "./out/compare-view.js";
import { connectReport } from "./out/report-view.js";
import { connectShip } from "./out/ship-view.js";
import { keptByReason, reasonOf } from "./reasons.js";
import { openDrawer, openValues } from "./show/drawer.js";
import { parametersOf, showHeader } from "./show/header.js";
import { connectInputs } from "./show/inputs-view.js";
import { showKept } from "./show/kept.js";
import { LayerTable } from "./show/layer-table.js";
import { createPlanView } from "./show/plan-view.js";
import { createProgress, REPLACED } from "./show/progress.js";
import { drawStrip } from "./show/strip.js";
import { connectTensorList } from "./show/tensor-list.js";
import { skeleton } from "./skeleton.js";
import { analyzedText, foundText, problemText, showsText } from "./texts.js";

export async function connectLab(view: HTMLElement, announce: (message: string) => void) {
  const root = find(view, ".lab");
  root.replaceChildren(...skeleton().map((part) => toDom(part)));
  await turn();
  new Lab(view, root, announce);
  root.hidden = false;
}

/** Milliseconds between drawings of the table while rows come in. */
const REDRAW = 150;
/** Milliseconds after a change of the state, after which the address has it. */
const RELINK = 200;

const isOfLab = (hash: string) => /^#lab(\?|$)/.test(hash);

class Lab {
  #root;
  #announce;
  #state = fromLink(location.hash, Object.keys(METRICS));
  #header: Header | undefined;
  #layers = new Layers([]);
  #plan: Plan | undefined;
  /** Changes with each choice that a plan depends on. */
  #planning = Symbol();
  /** Files that the writer makes of the plan. */
  #files: { name: string; size: number }[] = [];
  #isDrawing = false;
  /** Changes with each choice of a file. */
  #choice = Symbol();
  /** The output for which the rows are measured. */
  #measuredFor = { format: "", target: "" };
  #linking: ReturnType<typeof setTimeout> | undefined;
  #table;
  #planView;
  #progress;
  #inputs;
  #ship;
  #report;
  #compare;
  #listTensors;

  constructor(view: HTMLElement, root: HTMLElement, announce: (message: string) => void) {
    this.#root = root;
    this.#announce = announce;
    this.#table = new LayerTable(find(this.#root, ".lab-table"), {
      onOpen: (layer, scheme) => this.#openCell(layer, scheme),
      onSort: (sort) => this.#remember({ sort }),
      reasonOf: (layer) => reasonOf(layer, this.#plan),
    });
    this.#planView = createPlanView(find(this.#root, ".lab-frontier"), {
      onBudget: (budget) => {
        this.#remember({ budget });
        this.#replan();
      },
    });
    this.#progress = createProgress(find(this.#root, ".lab-progress"), { announce });
    this.#inputs = connectInputs(find(this.#root, ".lab-inputs"), {
      announce,
      onWeights: (names) => this.#analyze(names),
      onProblem: (message) => this.#fail(message),
    });
    this.#connectOpening(view);
    this.#connectControls();
    this.#ship = connectShip(find(this.#root, ".lab-ship"), {
      write: quantize,
      current: () => ({ header: this.#header, plan: this.#plan, count: this.#files.length }),
      onWrite: () => this.#progress.stop("Stopped, to write the file."),
      onChoice: (choice) => {
        this.#remember(choice);
        this.#updatePlan();
      },
      announce,
    });
    this.#compare = connectCompare(find(this.#root, ".lab-compare"), {
      current: () => this.#header,
      onChoice: (beside) => this.#remember({ beside }),
      announce,
    });
    const drawer = find(this.#root, ".lab-drawer", HTMLDialogElement);
    this.#listTensors = connectTensorList(
      find(this.#root, ".lab-tensors", HTMLDetailsElement),
      (name) => {
        drawer.onclose = null;
        openValues(drawer, name, () => valuesOf(name));
      },
    );
    this.#report = connectReport(find(this.#root, ".lab-report"), {
      current: () => ({
        header: this.#header,
        rows: this.#layers.rows,
        plan: this.#plan,
        count: this.#files.length,
        budget: this.#state.budget,
        pins: this.#state.pins,
        ...this.#ship.output(),
        ...this.#inputs.files(),
      }),
    });
    makeScrollable(root);
    addEventListener("hashchange", () => this.#followLink());
    this.#followState();
  }

  /** Opens what the state names. */
  #followState() {
    const { sample, file } = this.#state;
    if (sample) this.#openSample(sample, true);
    else if (file) this.#open(file, { file }, true);
  }

  /**
   * Keeps a change of the state, soon also in the address: browsers refuse changes of it that follow each other as
   * fast as a slider's.
   */
  #remember(change: Partial<LabState>) {
    Object.assign(this.#state, change);
    clearTimeout(this.#linking);
    this.#linking = setTimeout(() => {
      // The reader may be in another view by now.
      if (isOfLab(location.hash)) history.replaceState(history.state, "", toLink(this.#state));
    }, RELINK);
  }

  /** A link that was followed while the lab is open: without a state it leads back to the present one. */
  #followLink() {
    const { hash } = location;
    if (!isOfLab(hash) || hash === toLink(this.#state)) return;
    if (!hash.includes("?")) {
      this.#remember({});
      return;
    }
    const { sample, file, beside } = this.#state;
    this.#state = fromLink(hash, Object.keys(METRICS));
    this.#showControls();
    const wanted = this.#state;
    const isOther =
      (wanted.sample && wanted.sample !== sample) || (wanted.file && wanted.file !== file);
    if (isOther) this.#followState();
    else if (this.#header) {
      if (wanted.beside && wanted.beside !== beside) this.#compareWith(wanted.beside);
      this.#remember({ sample, file });
      this.#ship.refresh(this.#state);
      this.#updatePlan();
    }
  }

  /** Shows the state in the controls of the table. */
  #showControls() {
    const { metric, filter } = this.#state;
    find(this.#root, "[name='metric']", HTMLSelectElement).value = metric;
    find(this.#root, "[name='filter']", HTMLInputElement).value = filter;
  }

  #fail(message: string) {
    const element = find(this.#root, ".lab-problem");
    element.textContent = message;
    element.hidden = message === "";
    if (message) this.#announce(message);
  }

  #connectOpening(view: HTMLElement) {
    const input = find(this.#root, ".lab-drop input", HTMLInputElement);
    // Anywhere on the page: a drop beside the box would make the browser leave it.
    connectDrop(document, input, (files) => this.#openOrAdd(files), {
      marked: this.#root,
      isActive: () => view.hasAttribute("data-current"),
    });
    this.#root.addEventListener("click", ({ target }) => {
      const sample = (target as Element).closest("[data-sample]")?.getAttribute("data-sample");
      if (sample) this.#openSample(sample);
    });
    const form = find(this.#root, ".lab-address");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const input = find(form, "input", HTMLInputElement);
      const file = input.value.trim();
      if (file) this.#open(file, { file });
    });
  }

  /** Opens files; an importance matrix is for the model that is open. */
  async #openOrAdd(files: File[]) {
    if (this.#header && (await areImportance(files))) await this.#inputs.add(files);
    else await this.#open(files);
  }

  #connectControls() {
    this.#showControls();
    const metric = find(this.#root, "[name='metric']", HTMLSelectElement);
    metric.addEventListener("change", () => {
      this.#remember({ metric: metric.value as Metric });
      this.#draw();
    });
    const filter = find(this.#root, "[name='filter']", HTMLInputElement);
    filter.addEventListener("input", () => {
      this.#remember({ filter: filter.value });
      this.#draw();
    });
    find(this.#root, "[data-action='analyze']").addEventListener("click", () => this.#analyze());
    find(this.#root, "[data-action='unpin']").addEventListener("click", () => {
      this.#remember({ pins: {} });
      this.#updatePlan();
    });
  }

  /** @param isOfLink  whether a link names it */
  async #openSample(name: string, isOfLink?: boolean) {
    const isLast = this.#choose();
    try {
      const { loadInputs, loadSample } = await import("./samples.js");
      const [file, inputs] = await Promise.all([loadSample(name), loadInputs(name)]);
      if (isLast()) await this.#open([file], { sample: name, inputs }, isOfLink);
    } catch (error) {
      if (isLast()) this.#fail(messageOf(error));
    }
  }

  /**
   * Compares the opened model with another one.
   * @param beside  name of a sample, or an address
   */
  async #compareWith(beside: string) {
    try {
      const { isSample, loadSample } = await import("./samples.js");
      const other = isSample(beside) ? [await loadSample(beside)] : beside;
      await this.#compare.compare(other, beside);
    } catch (error) {
      this.#fail(messageOf(error));
    }
  }

  /** A choice of a file. @returns whether no other file has been chosen since */
  #choose() {
    const choice = Symbol();
    this.#choice = choice;
    return () => choice === this.#choice;
  }

  /**
   * @param given  of one model, or of two, which are compared
   * @param origin  what a link names it by, and files of its inputs
   * @param keepsState  whether budget, pins and output are for this file; default: for the first one
   */
  async #open(
    given: Given,
    { sample, file, inputs = [] }: { sample?: string; file?: string; inputs?: File[] } = {},
    keepsState: boolean = !this.#header,
  ) {
    const [files, other] = typeof given === "string" ? [given] : splitPair(given);
    this.#progress.stop(REPLACED);
    this.#compare.reset();
    this.#fail("");
    const { budget, pins, format, target, beside } = keepsState ? this.#state : emptyState();
    this.#remember({ sample, file, budget, pins, format, target, beside });
    const isLast = this.#choose();
    let header: Header | undefined;
    let problem = "";
    try {
      header = await open(files);
    } catch (error) {
      problem = problemText(error as any, mainOf(files).name);
    }
    if (!isLast()) return;
    this.#header = header;
    this.#layers = new Layers(header?.tensors ?? []);
    this.#forgetPlan();
    this.#root.classList.toggle("is-open", header !== undefined);
    if (!header) {
      this.#draw();
      this.#fail(problem);
      return;
    }
    this.#inputs.reset(header.inputs);
    this.#ship.refresh(this.#state);
    showHeader(find(this.#root, ".lab-file"), header);
    this.#listTensors(header.tensors);
    this.#drawStrip();
    this.#draw();
    this.#announce(`${header.name} is open: ${nounText(header.tensors.length, "tensor")}.`);
    if (inputs.length > 0) await this.#inputs.add(inputs);
    if (other) await this.#compare.compare(other);
    else if (beside) await this.#compareWith(beside);
    if (isLast()) await this.#analyze();
  }

  /** Leaves nothing of an earlier analysis and its plan. */
  #forgetPlan() {
    this.#startPlanning();
    this.#plan = undefined;
    this.#files = [];
    this.#root.classList.remove("is-analyzed", "is-analyzing", "is-planned", "is-unplanned");
    find(this.#root, ".lab-status").textContent = "";
    find(this.#root, ".lab-drawer", HTMLDialogElement).close();
  }

  #drawStrip() {
    const schemes = this.#plan?.schemes ?? {};
    const bytesAfter = new Map(
      this.#layers.rows
        .filter(({ name, scheme }) => schemes[name] === scheme)
        .map(({ name, bytes }) => [name, bytes]),
    );
    const tensors = (this.#header?.tensors ?? []).map(({ name, byteLength }) => ({
      name,
      byteLength,
      bytesAfter: bytesAfter.get(name),
      isKept: schemes[name] === "keep",
    }));
    drawStrip(find(this.#root, ".lab-strip"), tensors, (name) => this.#table.show(name));
  }

  /** Whether the rows are those of a file of another target, or with groups along another axis: ONNX has them along the inputs. */
  #isMeasuredOtherwise() {
    const [measured, wanted] = [this.#measuredFor, this.#ship.output()];
    const isOnnx = [measured, wanted].map(({ format }) => format === "onnx");
    return (
      measured.target !== wanted.target ||
      (this.#header?.format === "onnx" && isOnnx[0] !== isOnnx[1])
    );
  }

  /** @param names  of the weights to analyze again; default: all */
  async #analyze(names?: string[]) {
    // Rows of a part replace those of a whole analysis only.
    const part = this.#root.classList.contains("is-analyzed") ? names : undefined;
    if (!part) this.#layers = new Layers(this.#header?.tensors ?? []);
    this.#forgetPlan();
    this.#root.classList.add("is-analyzing");
    const output = this.#ship.output();
    this.#measuredFor = output;
    const run = this.#progress.start();
    try {
      await analyzeAll({ names: part, ...output }, run, {
        onRow: (row) => this.#take({ ...row }),
        onSampled: () => this.#updatePlan(),
      });
      this.#root.classList.add("is-analyzed");
      this.#finish(analyzedText(this.#layers));
      await this.#updatePlan();
    } catch (error) {
      const { name, message } = error as Error;
      if (run.signal.aborted && run.signal.reason.message === REPLACED) return;
      if (name !== "AbortError") this.#fail(problemText(error as any, this.#header?.name ?? ""));
      this.#finish(name === "AbortError" ? message : "");
    }
  }

  /** The end of an analysis. */
  #finish(message: string) {
    const hadFocus = this.#progress.end();
    this.#root.classList.remove("is-analyzing");
    const isDone = this.#root.classList.contains("is-analyzed");
    if (hadFocus && isDone) this.#table.focusCell();
    else if (hadFocus) find(this.#root, "[data-action='analyze']").focus();
    find(this.#root, ".lab-status").textContent = message;
    this.#announce(message);
    this.#draw();
  }

  /** Takes a row of the analysis, and draws a few times a second. */
  #take(row: AnalysisRow) {
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
    const found = foundText(this.#table.shownCount, layers.length, filter);
    find(this.#root, ".lab-shows").textContent = `${found}${showsText(this.#layers.counts)}`;
    const isAnalyzed = this.#root.classList.contains("is-analyzed");
    this.#root.classList.toggle("is-without-layers", isAnalyzed && layers.length === 0);
    find(this.#root, "[data-action='unpin']").hidden = Object.keys(this.#state.pins).length === 0;
  }

  /** The frontier for the present pins, and the plan on it. */
  async #updatePlan() {
    if (this.#layers.size === 0) return;
    const isLast = this.#startPlanning();
    if (this.#isMeasuredOtherwise()) {
      await this.#analyze();
      return;
    }
    const header = this.#header;
    // A link may have been made with another file.
    const pins = Object.entries(this.#state.pins).filter(([name]) => this.#layers.has(name));
    this.#state.pins = Object.fromEntries(pins);
    try {
      const { points, uniforms, sizes } = await frontierOf({
        pins: this.#state.pins,
        ...this.#ship.output(),
      });
      if (header === undefined || header !== this.#header || !isLast()) return;
      this.#layers.store(sizes);
      this.#planView.setFrontier(points, uniforms, parametersOf(header.tensors));
      find(this.#root, ".lab-mixes").hidden = !uniforms.some(({ isPreset }) => isPreset);
      const middle = points[Math.floor(points.length / 2)];
      const { budget } = this.#state;
      const [least] = points;
      if (middle && (budget === undefined || budget < least.bytes))
        this.#state.budget = middle.bytes;
      await this.#replan();
      if (this.#plan) this.#root.classList.add("is-planned");
    } catch (error) {
      if (!isLast()) return;
      if (!(await this.#dropPins())) this.#fail(messageOf(error));
    }
  }

  /** Removes pins that the output format cannot store, and plans again. @returns whether there were some */
  async #dropPins() {
    const { pins } = this.#state;
    const output = this.#ship.output();
    const dropped = await unusablePins({ pins, ...output });
    if (dropped.length === 0) return false;
    const rest = Object.entries(pins).filter(([name]) => !dropped.includes(name));
    this.#remember({ pins: Object.fromEntries(rest) });
    const list = dropped.map((name: string) => `${name} (${pins[name]})`).join(", ");
    const message = `Pins removed, because ${this.#ship.outputText()} cannot store their schemes: ${list}.`;
    find(this.#root, ".lab-status").textContent = message;
    this.#announce(message);
    await this.#updatePlan();
    return true;
  }

  /** Nothing is written until the plan is that of the present choices. @returns whether they have not changed since */
  #startPlanning() {
    const planning = Symbol();
    this.#planning = planning;
    this.#ship.setReady(false);
    return () => planning === this.#planning;
  }

  async #replan() {
    const { budget, pins } = this.#state;
    if (budget === undefined) return;
    const isLast = this.#startPlanning();
    const header = this.#header;
    try {
      const { plan, files, estimate } = await planFor({
        bytes: budget,
        pins,
        ...this.#ship.output(),
      });
      if (header === undefined || header !== this.#header || !isLast()) return;
      this.#files = files;
      const fileBytes = files.reduce((sum, { size }) => sum + size, 0);
      this.#plan = { ...plan, fileBytes, isFileExact: true };
      this.#fail("");
      this.#planView.show({ ...plan, estimate, budget }, files, header.size);
      showKept(find(this.#root, ".lab-kept"), keptByReason(this.#layers.rows));
      this.#draw();
      this.#drawStrip();
      this.#root.classList.remove("is-unplanned");
      this.#report.update();
      this.#ship.setReady(true);
    } catch (error) {
      if (!isLast()) return;
      this.#fail(messageOf(error));
      // Another output may be possible.
      this.#root.classList.add("is-unplanned");
    }
  }

  #openCell(layer: Layer, given: string | undefined) {
    const { name, planned, rows } = layer;
    const ofPlan = planned && rows.has(planned) ? planned : undefined;
    const scheme = given ?? ofPlan ?? ([...rows.keys()][0] as string);
    const { [name]: pin, ...others } = this.#state.pins;
    const dialog = find(this.#root, ".lab-drawer", HTMLDialogElement);
    dialog.onclose = () => this.#table.focusCell();
    openDrawer(
      dialog,
      { name, scheme, pin, planned, reason: reasonOf(layer, this.#plan) },
      async () => ({
        ...(await detail({ name, scheme, ...this.#measuredFor })),
        // As the target stores it.
        bytes: layer.rows.get(scheme)?.bytes,
      }),
      {
        onPin: (chosen) => {
          this.#remember({ pins: chosen ? { ...others, [name]: chosen } : others });
          this.#updatePlan();
        },
        onPlay: () => this.#play(layer, scheme),
      },
    );
  }

  async #play({ name }: Layer, scheme: string) {
    try {
      const corner = await cornerOf({ name, scheme });
      const { playLink } = await import("./out/play-link.js");
      location.hash = await playLink(corner, scheme);
    } catch (error) {
      this.#fail(messageOf(error));
    }
  }
}
