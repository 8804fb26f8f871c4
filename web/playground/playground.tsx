// The playground: its state, what changes it, and the link that holds it.

import { render } from "preact";
import { find } from "../shell/dom.js";
import { turn } from "../shell/slices.js";
import { THEME_EVENT } from "../shell/theme.js";
import { type Answers, Engine } from "./engine.js";
import { readLink, writeLink } from "./link.js";
import { PlayView } from "./play-view.js";
import { type Asked, DEFAULTS, FIRST_SOURCE, isBlock, limitsOf, type Settings } from "./state.js";
import { spokenElement } from "./views/inspector.js";
import { levelsOf } from "./views/levels.js";
import "./playground.css";
import "./views/views.css";

const REST = 250; // milliseconds without a change, after which the link is written

/** What the components of the playground show. */
export interface State extends Answers {
  settings: Settings;
  /** A, to compare with. */
  other: Settings | undefined;
  selected: number;
  /** The element below the pointer, shown in the place of the selected one. */
  hovered: number | undefined;
  /** The element that was selected last, as a sentence. */
  spoken: string;
  /** What is wrong with the link. */
  damage: string;
}

export class Playground {
  state: State = {
    abilities: { bits: [1, 2, 3, 4, 5, 6, 7, 8], hasFloat: true, hasBlocks: true },
    settings: DEFAULTS,
    other: undefined,
    source: FIRST_SOURCE,
    data: undefined,
    problem: undefined,
    result: undefined,
    otherResult: undefined,
    sweep: undefined,
    schemes: [],
    isComplete: false,
    selected: 0,
    hovered: undefined,
    spoken: "",
    message: "",
    damage: "",
  };
  view: HTMLElement;
  announce: (message: string) => void;
  #place;
  #engine = new Engine((answers) => this.#change(answers));
  #willRender = false;
  /** Whether all figures have been laid out once. */
  #isLaidOut = false;
  #linkTimer: ReturnType<typeof setTimeout> | undefined;
  /** The link that was last written to the address. */
  #link = "";
  /** The link of what is shown in the place of a damaged one. */
  #instead: string | undefined;

  constructor(view: HTMLElement, announce: (message: string) => void) {
    this.view = view;
    this.announce = announce;
    this.#place = find(view, ".play");
    this.#render();
    this.#place.hidden = false;
    addEventListener("hashchange", () => this.#followLink());
    document.addEventListener(THEME_EVENT, () => this.#change({}));
  }

  /** Changes the state, and renders it after all changes of the current task. */
  #change(part: Partial<State>) {
    this.state = { ...this.state, ...part };
    if (part.result) this.#writeLinkSoon();
    if (this.#willRender) return;
    this.#willRender = true;
    queueMicrotask(() => this.#render());
  }

  #render() {
    this.#willRender = false;
    this.#place.toggleAttribute("data-complete", this.state.isComplete);
    render(<PlayView playground={this} state={this.state} />, this.#place);
    if (this.#isLaidOut) return;
    this.#isLaidOut = this.state.isComplete;
    // Lays the first figures out in a task of their own, before the frame that draws them.
    turn().then(() => this.#place.getBoundingClientRect());
  }

  /** Changes what the worker computes from. */
  #ask(part: Partial<State>, source?: Asked) {
    this.#change({ ...part, isComplete: false });
    const { settings, other } = this.state;
    this.#engine.ask(settings, other, source);
  }

  /** Reads the address. Without a state in it, opens the default data. */
  async start() {
    this.#link = location.hash;
    this.#sayDamage("");
    try {
      const { settings, other, source, unread } = await readLink(location.hash);
      this.#change({ settings, other });
      this.take(source);
      if (unread.length > 0) {
        this.#sayDamage(
          `This link has settings that do not apply (${unread.join(", ")}). The nearest that do are shown instead.`,
        );
      }
    } catch (error) {
      this.take(FIRST_SOURCE);
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

  take = (source: Asked) => this.#ask(source.kind === "generated" ? { source } : {}, source);

  set = (settings: Settings) => this.#ask({ settings });

  /** Sets the ends of the range. */
  move = (low: number, high: number) =>
    this.set({ ...this.state.settings, range: "ends", low, high });

  /** Sets the settings of the form: ends, scale and zero point by hand begin with the current values. */
  setByHand = (settings: Settings) => {
    const { result } = this.state;
    const isNew = settings.range !== this.state.settings.range;
    if (!isNew || !result || isBlock(result.settings)) return this.set(settings);
    const { scales, zeroPoints } = result.evaluation;
    const levels = levelsOf(result.evaluation, limitsOf(result.settings), 0);
    const [low, high] = [levels[0], levels[levels.length - 1]].map(Math.fround);
    const zeroPoint = settings.scheme === "symmetric" ? 0 : (zeroPoints[0] ?? 0);
    if (settings.range === "ends") this.set({ ...settings, low, high });
    else if (settings.range === "qparams") {
      this.set({ ...settings, scale: Number(scales[0].toPrecision(6)), zeroPoint });
    } else this.set(settings);
  };

  keep = () => {
    this.#ask({ other: this.state.settings });
    this.announce("Kept as A. Change the settings to compare.");
  };

  swap = () => {
    const { other, settings } = this.state;
    if (other) this.#ask({ other: settings, settings: other });
  };

  drop = () => this.#ask({ other: undefined, otherResult: undefined });

  hover = (hovered: number | undefined) => this.#change({ hovered });

  /** @param isSpoken  whether a screen reader says it */
  select = (selected: number, isSpoken = false) => {
    const { data, result } = this.state;
    if (!data || !result || selected >= data.values.length) return;
    const spoken = isSpoken ? { spoken: spokenElement(data, result, selected) } : {};
    this.#change({ selected, hovered: undefined, ...spoken });
  };

  /** Says that the link is damaged, until it is another one. */
  #sayDamage(damage: string) {
    this.#change({ damage });
    this.#instead = undefined;
  }

  #writeLinkSoon() {
    clearTimeout(this.#linkTimer);
    this.#linkTimer = setTimeout(async () => {
      const { hash } = await writeLink(this.state);
      if (this.state.damage !== "") {
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
  const playground = new Playground(view, announce);
  await turn();
  await playground.start();
}
