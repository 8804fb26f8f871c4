// A drawn digit and the nearest ones, by float32 values and by each kind of codes.

import { connectPad } from "../digits/pad.js";
import { context2d, find } from "../shell/dom.js";
import { bytesText, countText, millisecondsText } from "../shell/drawing/numbers.js";
import { h, toDom } from "../shell/drawing/tree.js";
import { messageOf } from "../shell/message-of.js";
import { SEARCHES } from "./skeleton.js";
import type { Search, Shown } from "./worker/digits.js";

type Found = Record<"float32" | "int8" | "int4" | "binary" | "decided", Search>;

const DIGITS = 10_000;

/** Milliseconds without a stroke, after which the result is announced. */
const REST = 700;

export function connectDigits(
  element: HTMLElement,
  {
    call,
    announce,
    show,
  }: {
    call: (command: string, argument: unknown) => Promise<any>;
    announce: (message: string) => void;
    show: (problem: string) => void;
  },
) {
  const status = find(element, ".search-status");
  let loading: Promise<Record<string, number>> | undefined;
  /** What is drawn, if it is not searched yet. */
  let asked: { pixels: Float32Array | undefined } | undefined;
  let isSearching = false;
  let resting: ReturnType<typeof setTimeout> | undefined;

  /** Loads the digits, once; after a failure again. */
  const load = (): Promise<Record<string, number>> => {
    if (loading) return loading;
    status.textContent = "Loading 10,000 digits …";
    loading = call("loadDigits", {}).then(({ bytes }) => bytes);
    loading.then(
      () => {
        status.textContent = "10,000 digits of MNIST, 784 values each.";
      },
      () => {
        loading = undefined;
        status.textContent = "The digits could not be loaded.";
      },
    );
    return loading;
  };

  /** Whether the paper was cleared since the last search began. */
  const wasCleared = () => asked !== undefined && asked.pixels === undefined;

  /** Searches for what was drawn last, until nothing newer is there. */
  const search = async () => {
    if (isSearching) return;
    isSearching = true;
    try {
      while (asked) {
        const { pixels } = asked;
        asked = undefined;
        if (!pixels) {
          clearResults(element);
          continue;
        }
        const bytes = await load();
        const found = await call("nearest", { pixels });
        show("");
        if (wasCleared()) continue;
        showFound(element, found, bytes);
        clearTimeout(resting);
        resting = setTimeout(() => announce(summaryOf(found)), REST);
      }
    } catch (error) {
      show(messageOf(error));
    } finally {
      isSearching = false;
    }
  };

  connectPad(element, {
    onChange: (pixels) => {
      if (!pixels) clearTimeout(resting);
      asked = { pixels };
      search();
    },
    take: async (label, number) => {
      await load();
      return call("takeDigit", { label, number });
    },
    onProblem: show,
  });
}

const columnOf = (element: HTMLElement, name: string) => find(element, `[data-search="${name}"]`);

function clearResults(element: HTMLElement) {
  for (const { name } of SEARCHES) {
    const column = columnOf(element, name);
    find(column, ".search-hits").replaceChildren();
    for (const part of [".search-facts", ".search-proof"])
      find(column, part).textContent = "\u00a0";
  }
}

function showFound(element: HTMLElement, found: Found, bytes: Record<string, number>) {
  const nearest = new Set(found.float32.hits.map(({ id }) => id));
  for (const { name } of SEARCHES) {
    const search = found[name as keyof Found];
    const column = columnOf(element, name);
    find(column, ".search-facts").textContent =
      `${bytesText(bytes[name])} · ${millisecondsText(search.time)}`;
    find(column, ".search-hits").replaceChildren(
      ...search.hits.map((hit) => digitElement(hit, nearest.has(hit.id))),
    );
    find(column, ".search-proof").textContent = proofText(name, search, found);
  }
}

function proofText(
  name: string,
  { hits, proven, candidates }: Search,
  { float32, decided }: Found,
) {
  if (name === "float32") return `Reads as ${mostOf(hits)}. All 10,000 products.`;
  if (proven) return "Proven: no other digit belongs among these.";
  if (candidates === DIGITS) return "Not proven: the bounds of signs exclude no digit here.";
  const open = `Not proven: ${countText(candidates)} digits could be among the ten.`;
  if (name !== "int8") return open;
  const isSame = decided.hits.every(({ id }, i) => id === float32.hits[i].id);
  const outcome = isSame ? "the ten of float32" : "the ten nearest";
  return `${open} Their float32 values decide: ${outcome}, in order, proven; ${millisecondsText(decided.time)} in all.`;
}

function mostOf(hits: Shown[]) {
  const counts = new Map();
  for (const { label } of hits) counts.set(label, (counts.get(label) ?? 0) + 1);
  const [label, count] = [...counts].sort(([, a], [, b]) => b - a)[0];
  return `${label} (${count} of ${hits.length})`;
}

function summaryOf({ float32, int8 }: Found) {
  const same = new Set(float32.hits.map(({ id }) => id));
  const shared = int8.hits.filter(({ id }) => same.has(id)).length;
  return `Reads as ${mostOf(float32.hits)}. int8 codes found ${shared} of the ten nearest.`;
}

/** @param isNearest  whether it is one of the ten nearest by float32 values */
function digitElement({ label, score, codes }: Shown, isNearest: boolean) {
  const about = `${label}, cosine ${score.toFixed(3)}${isNearest ? "" : ", not among the ten of float32"}`;
  const item = toDom(
    h(
      "li",
      { class: isNearest ? null : "is-other", title: about },
      h("canvas", { width: 28, height: 28, role: "img", "aria-label": about }),
    ),
  );
  const context = context2d(find(item, "canvas", HTMLCanvasElement));
  const image = context.createImageData(28, 28);
  for (const [i, code] of codes.entries()) image.data[4 * i + 3] = 17 * code;
  context.putImageData(image, 0, 0);
  return item;
}
