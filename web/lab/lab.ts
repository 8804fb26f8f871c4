// The Model Lab: opens a model file, shows what each scheme costs each layer, plans within a size, and
// writes the quantized file.

import { createElement, render } from "preact";
import type { AnalysisRow } from "zeropoint/models";
import { find } from "../shell/dom.js";
import { nounText } from "../shell/drawing/numbers.js";
import { messageOf } from "../shell/message-of.js";
import { turn } from "../shell/slices.js";
import { METRICS } from "./format.js";
import { type Layer, Layers } from "./layers.js";
import { emptyState, fromLink, type LabState, toLink } from "./link.js";
import {
  analyzeAll,
  frontierOf,
  type Header,
  open,
  planFor,
  planOfPreset,
  unusablePins,
} from "./model/commands.js";
import { cornerOf, detail } from "./model/detail.js";
import { type Given, mainOf, splitPair } from "./model/files.js";
import { areImportance } from "./model/importance.js";
import { valuesOf } from "./model/values.js";
import { Comparison } from "./out/compare-view.js";
import { outputOf } from "./out/output.js";
import { Writing } from "./out/ship-view.js";
import { reasonOf } from "./reasons.js";
import type { Details } from "./show/drawer.js";
import { parametersOf } from "./show/header.js";
import { Inputs } from "./show/inputs-view.js";
import type { Frontier, Planned } from "./show/plan-view.js";
import { Progress, REPLACED } from "./show/progress.js";
import { analyzedText, type FormatProblem, problemText } from "./texts.js";
import { LabView } from "./view.js";

export async function connectLab(view: HTMLElement, announce: (message: string) => void) {
  const root = find(view, ".lab");
  const lab = new Lab(view, root, announce);
  await turn();
  lab.start();
  root.hidden = false;
}

/** Milliseconds between drawings of the table while rows come in. */
const REDRAW = 150;
/** Milliseconds after a change of the state, after which the address has it. */
const RELINK = 200;

const isOfLab = (hash: string) => /^#lab(\?|$)/.test(hash);

interface Origin {
  sample?: string;
  file?: string;
  inputs?: File[];
  all?: Given;
}

/** The state, which the view is a function of, and what is done to it. */
export class Lab {
  /** What the address has. */
  link = fromLink(location.hash, Object.keys(METRICS));
  header: Header | undefined;
  layers = new Layers([]);
  stage: "none" | "analyzing" | "analyzed" = "none";
  problem = "";
  status = "";
  frontier: Frontier | undefined;
  planned: Planned | undefined;
  /** Where the slider of the plan stands, in bytes. */
  size = 0;
  /** Whether there is no plan for the output, but may be for another one. */
  isUnplanned = false;
  /** Whether the plan is that of the present choices. */
  isReady = false;
  details: Details | undefined;
  readonly dropping;
  readonly announce;
  readonly progress;
  readonly inputs;
  readonly writing;
  readonly comparison;
  #root;
  #isToDraw = false;
  #isWaitingForRows = false;
  /** Changes with each choice of a file. */
  #choice = Symbol();
  /** Changes with each choice that a plan depends on. */
  #planning = Symbol();
  /** Whether the frontier is that of an earlier choice: the plan follows when it is there. */
  #isFrontierDue = false;
  /** The output for which the rows are measured. */
  #measuredFor = { format: "", target: "" };
  #linking: ReturnType<typeof setTimeout> | undefined;

  constructor(view: HTMLElement, root: HTMLElement, announce: (message: string) => void) {
    this.#root = root;
    this.announce = announce;
    this.dropping = { marked: root, isActive: () => view.hasAttribute("data-current") };
    this.progress = new Progress(announce);
    this.writing = new Writing(this.draw, announce);
    this.comparison = new Comparison(this.draw, announce);
    this.inputs = new Inputs({
      draw: this.draw,
      announce,
      onWeights: (names) => this.analyze(names),
      onProblem: (message) => this.#fail(message),
    });
    this.#render();
  }

  /** Opens what the address names. */
  start() {
    addEventListener("hashchange", () => this.#followLink());
    this.#followState();
  }

  /** Draws the view, once for all changes of a task. */
  draw = () => {
    if (this.#isToDraw) return;
    this.#isToDraw = true;
    queueMicrotask(() => {
      this.#isToDraw = false;
      this.#render();
    });
  };

  #render() {
    const isAnalyzed = this.stage === "analyzed";
    const states = {
      "is-open": this.header !== undefined,
      "is-analyzing": this.stage === "analyzing",
      "is-analyzed": isAnalyzed,
      "is-planned": this.planned !== undefined,
      "is-without-layers": isAnalyzed && this.layers.size === 0,
    };
    for (const [name, is] of Object.entries(states)) this.#root.classList.toggle(name, is);
    render(createElement(LabView, { lab: this }), this.#root);
  }

  get output() {
    return outputOf(this.header?.format ?? "", this.link);
  }

  #followState() {
    const { sample, file } = this.link;
    if (sample) this.openSample(sample, true);
    else if (file) this.#open(file, { file }, true);
  }

  /**
   * Changes the state, soon also in the address: browsers refuse changes of it that follow each other as fast as a
   * slider's.
   */
  change(change: Partial<LabState>) {
    Object.assign(this.link, change);
    this.draw();
    clearTimeout(this.#linking);
    this.#linking = setTimeout(() => {
      // The reader may be in another view by now.
      if (isOfLab(location.hash)) history.replaceState(history.state, "", toLink(this.link));
    }, RELINK);
  }

  /** A link that was followed while the lab is open: without a state it leads back to the present one. */
  #followLink() {
    const { hash } = location;
    if (!isOfLab(hash) || hash === toLink(this.link)) return;
    if (!hash.includes("?")) {
      this.change({});
      return;
    }
    const { sample, file, beside } = this.link;
    this.link = fromLink(hash, Object.keys(METRICS));
    this.draw();
    const wanted = this.link;
    const isOther =
      (wanted.sample && wanted.sample !== sample) || (wanted.file && wanted.file !== file);
    if (isOther) this.#followState();
    else if (this.header) {
      if (wanted.beside && wanted.beside !== beside) this.#compareWith(wanted.beside);
      this.change({ sample, file });
      this.writing.show(undefined);
      this.#updatePlan();
    }
  }

  #fail(problem: string) {
    this.problem = problem;
    this.draw();
    if (problem) this.announce(problem);
  }

  #say(status: string) {
    this.status = status;
    this.draw();
    if (status) this.announce(status);
  }

  /** Opens files; an importance matrix is for the model that is open. */
  openOrAdd = async (files: File[]) => {
    if (this.header && (await areImportance(files))) await this.inputs.add(files);
    else await this.#open(files);
  };

  openAddress(file: string) {
    this.#open(file, { file });
  }

  /** Opens another model of those that were given together. */
  openOther = (file: File) => {
    const { header } = this;
    if (header) this.#open(header.filesOf(file), { all: header.all });
  };

  /** @param isOfLink  whether a link names it */
  async openSample(name: string, isOfLink?: boolean) {
    const isLast = this.#choose();
    try {
      const { loadInputs, loadSample } = await import("./samples.js");
      const [file, inputs] = await Promise.all([loadSample(name), loadInputs(name)]);
      if (isLast()) await this.#open([file], { sample: name, inputs }, isOfLink);
    } catch (error) {
      if (isLast()) this.#fail(messageOf(error));
    }
  }

  compare = (files: File[]) => {
    this.change({ beside: undefined });
    this.comparison.compare(files);
  };

  /**
   * Compares the opened model with another one.
   * @param beside  name of a sample, or an address
   */
  async #compareWith(beside: string) {
    try {
      const { isSample, loadSample } = await import("./samples.js");
      const other = isSample(beside) ? [await loadSample(beside)] : beside;
      this.change({ beside });
      await this.comparison.compare(other);
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
   * @param origin  what a link names it by, files of its inputs, and all that were given with it
   * @param keepsState  whether budget, pins and output are for this file; default: for the first one
   */
  async #open(
    given: Given,
    { sample, file, inputs = [], all }: Origin = {},
    keepsState: boolean = !this.header,
  ) {
    const [files, other] = typeof given === "string" ? [given] : splitPair(given);
    this.progress.stop(REPLACED);
    this.comparison.reset();
    this.#fail("");
    const { metric, filter, sort, ...kept } = keepsState ? this.link : emptyState();
    const { beside } = kept;
    this.change({ ...kept, sample, file });
    const isLast = this.#choose();
    let header: Header | undefined;
    let problem = "";
    try {
      header = await open(files, all);
    } catch (error) {
      problem = problemText(error as FormatProblem, mainOf(files).name);
    }
    if (!isLast()) return;
    this.header = header;
    this.layers = new Layers(header?.tensors ?? []);
    this.inputs.forget();
    this.writing.show(undefined);
    this.#forgetPlan();
    if (!header) {
      this.#fail(problem);
      return;
    }
    this.announce(`${header.name} is open: ${nounText(header.tensors.length, "tensor")}.`);
    if (inputs.length > 0) await this.inputs.take(inputs);
    if (other) await this.comparison.compare(other);
    else if (beside) await this.#compareWith(beside);
    if (isLast()) await this.analyze();
  }

  /** Leaves nothing of an earlier analysis and its plan. */
  #forgetPlan() {
    this.#startPlanning();
    this.planned = undefined;
    this.details = undefined;
    this.stage = "none";
    this.isUnplanned = false;
    this.#say("");
  }

  /** The tensors with their bytes in the plan. */
  stripTensors() {
    const schemes = this.planned?.plan.schemes ?? {};
    const bytesAfter = new Map(
      this.layers.rows
        .filter(({ name, scheme }) => schemes[name] === scheme)
        .map(({ name, bytes }) => [name, bytes]),
    );
    return (this.header?.tensors ?? []).map(({ name, byteLength }) => ({
      name,
      byteLength,
      bytesAfter: bytesAfter.get(name),
      isKept: schemes[name] === "keep",
    }));
  }

  /** Whether the rows are those of a file of another target, or with groups along another axis: ONNX has them along the inputs. */
  #isMeasuredOtherwise() {
    const [measured, wanted] = [this.#measuredFor, this.output];
    const isOnnx = [measured, wanted].map(({ format }) => format === "onnx");
    return (
      measured.target !== wanted.target ||
      (this.header?.format === "onnx" && isOnnx[0] !== isOnnx[1])
    );
  }

  /** @param names  of the weights to analyze again; default: all */
  async analyze(names?: string[]) {
    // Rows of a part replace those of a whole analysis only.
    const part = this.stage === "analyzed" ? names : undefined;
    if (!part) this.layers = new Layers(this.header?.tensors ?? []);
    this.#forgetPlan();
    this.stage = "analyzing";
    this.#measuredFor = this.output;
    const run = this.progress.start();
    try {
      await analyzeAll({ names: part, ...this.output }, run, {
        onRow: (row) => this.#take({ ...row }),
        onSampled: () => this.#updatePlan(),
      });
      this.#finish("analyzed", analyzedText(this.layers));
      await this.#updatePlan();
    } catch (error) {
      const { name, message } = error as Error;
      if (run.signal.aborted && run.signal.reason.message === REPLACED) return;
      const isStopped = name === "AbortError";
      if (!isStopped) this.#fail(problemText(error as FormatProblem, this.header?.name ?? ""));
      this.#finish("none", isStopped ? message : "");
    }
  }

  /** The end of an analysis. */
  #finish(stage: "none" | "analyzed", message: string) {
    this.stage = stage;
    this.#say(message);
    this.progress.end();
  }

  /** Takes a row of the analysis, and draws a few times a second. */
  #take(row: AnalysisRow) {
    this.layers.take(row);
    if (this.#isWaitingForRows) return;
    this.#isWaitingForRows = true;
    setTimeout(() => {
      this.#isWaitingForRows = false;
      this.draw();
    }, REDRAW);
  }

  chooseOutput = (output: { format: string; target: string }) => {
    this.change({ ...output, preset: "" });
    this.#updatePlan();
  };

  /** @param preset  the mix of this size, if one was chosen */
  chooseSize = (size: number, preset = "") => {
    this.size = size;
    this.change({ budget: size, preset });
    if (!this.#isFrontierDue) this.#replan();
  };

  #changePins(pins: Record<string, string>) {
    this.change({ pins, preset: "" });
    this.#updatePlan();
  }

  unpinAll() {
    this.#changePins({});
  }

  /** The frontier for the present pins, and the plan on it. */
  async #updatePlan() {
    if (this.layers.size === 0) return;
    const isLast = this.#startPlanning();
    if (this.#isMeasuredOtherwise()) {
      await this.analyze();
      return;
    }
    const { header } = this;
    this.#isFrontierDue = true;
    // A link may have been made with another file.
    const pins = Object.entries(this.link.pins).filter(([name]) => this.layers.has(name));
    this.link.pins = Object.fromEntries(pins);
    try {
      const found = await frontierOf({ pins: this.link.pins, ...this.output });
      if (header === undefined || header !== this.header || !isLast()) return;
      const { points, uniforms, sizes } = found;
      this.#isFrontierDue = false;
      this.layers.store(sizes);
      this.frontier = { points, uniforms, parameters: parametersOf(header.tensors) };
      const middle = points[Math.floor(points.length / 2)];
      const { budget } = this.link;
      const [least] = points;
      if (middle && (budget === undefined || budget < least.bytes)) this.link.budget = middle.bytes;
      await this.#replan();
    } catch (error) {
      if (!isLast()) return;
      this.#isFrontierDue = false;
      if (!(await this.#dropPins())) this.#fail(messageOf(error));
    }
  }

  /** Removes pins that the output format cannot store, and plans again. @returns whether there were some */
  async #dropPins() {
    const { pins } = this.link;
    const dropped = await unusablePins({ pins, ...this.output });
    if (dropped.length === 0) return false;
    const rest = Object.entries(pins).filter(([name]) => !dropped.includes(name));
    const list = dropped.map((name) => `${name} (${pins[name]})`).join(", ");
    this.change({ pins: Object.fromEntries(rest) });
    this.#say(`Pins removed, because ${this.output.text} cannot store their schemes: ${list}.`);
    await this.#updatePlan();
    return true;
  }

  /** Nothing is written until the plan is that of the present choices. @returns whether they have not changed since */
  #startPlanning() {
    const planning = Symbol();
    this.#planning = planning;
    this.isReady = false;
    this.draw();
    return () => planning === this.#planning;
  }

  async #replan() {
    const { budget, preset, pins } = this.link;
    if (budget === undefined) return;
    const isLast = this.#startPlanning();
    const { header } = this;
    // Mixes are known when all rows are exact.
    const isMix = this.frontier?.uniforms.some(({ name, isPreset }) => isPreset && name === preset);
    const output = { pins, ...this.output };
    try {
      const { plan, files, estimate } = isMix
        ? await planOfPreset({ preset, ...output })
        : await planFor({ bytes: budget, ...output });
      if (header === undefined || header !== this.header || !isLast()) return;
      const fileBytes = files.reduce((sum, { size }) => sum + size, 0);
      const point = { bytes: plan.fileBytes, error: plan.error };
      this.planned = { plan: { ...plan, fileBytes, isFileExact: true }, point, files, estimate };
      this.size = plan.fileBytes;
      this.isUnplanned = false;
      this.isReady = true;
      this.#fail("");
    } catch (error) {
      if (!isLast()) return;
      // Another output may be possible.
      this.isUnplanned = true;
      this.#fail(messageOf(error));
    }
  }

  write = () => {
    if (!this.header || !this.planned) return;
    const onStart = () => this.progress.stop("Stopped, to write the file.");
    this.writing.write(this.header.name, this.planned, this.output, onStart);
  };

  openCell = (layer: Layer, given: string | undefined) => {
    const { name, planned, rows } = layer;
    const ofPlan = planned && rows.has(planned) ? planned : undefined;
    const scheme = given ?? ofPlan ?? ([...rows.keys()][0] as string);
    const reason = reasonOf(layer, this.planned?.plan);
    const cell = { scheme, pin: this.link.pins[name], planned, reason };
    this.#openDetails({ name, cell }, async () => {
      const row = await detail({ name, scheme, ...this.#measuredFor });
      // As the target stores it.
      return { row: { ...row, bytes: rows.get(scheme)?.bytes ?? row.bytes } };
    });
  };

  openValues = (name: string) =>
    this.#openDetails({ name }, async () => ({ values: await valuesOf(name) }));

  async #openDetails(opened: Details, load: () => Promise<Partial<Details>>) {
    this.details = opened;
    this.draw();
    const loaded = await load().catch((error) => ({ problem: messageOf(error) }));
    if (this.details !== opened) return;
    this.details = { ...opened, ...loaded };
    this.draw();
  }

  /** @returns those that were open */
  closeDetails() {
    const { details } = this;
    this.details = undefined;
    this.draw();
    return details;
  }

  /** Pins the layer of the details; undefined removes the pin. */
  pin = (scheme: string | undefined) => {
    if (!this.details) return;
    const { [this.details.name]: _, ...others } = this.link.pins;
    this.#changePins(scheme ? { ...others, [this.details.name]: scheme } : others);
  };

  /** Opens the cell of the details in the playground. */
  play = async () => {
    const { name, cell } = this.details ?? {};
    if (!name || !cell) return;
    try {
      const corner = await cornerOf({ name, scheme: cell.scheme });
      const { playLink } = await import("./out/play-link.js");
      location.hash = await playLink(corner, cell.scheme);
    } catch (error) {
      this.#fail(messageOf(error));
    }
  };
}
