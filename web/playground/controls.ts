// The form of the playground's settings.

import { find } from "../shell/dom.js";
import { segmented } from "../shell/drawing/segmented.js";
import { h, type Nested } from "../shell/drawing/tree.js";
import { BLOCK_TYPES, consistent, isBlock, type Settings } from "./state.js";
import type { Abilities } from "./worker/worker.js";

const SCHEMES: [string, string][] = [
  ["symmetric", "Symmetric"],
  ["affine", "Affine"],
  ["float", "Affine, float zero point"],
];

const RANGES: [string, string][] = [
  ["minmax", "Smallest to largest value"],
  ["mse", "Least squared error"],
  ["percentile", "Between percentiles"],
  ["histogram", "PyTorch’s histogram observer"],
  ["ends", "Ends by hand"],
  ["qparams", "Scale and zero point by hand"],
];

const number = (text: string, name: string, attributes: Record<string, string | number>) =>
  h(
    "label",
    { class: "play-field", "data-part": name },
    h("span", {}, text),
    h("input", { type: "number", name, step: "any", autocomplete: "off", ...attributes }),
  );

const select = (text: string, name: string, options: Nested) =>
  h(
    "label",
    { class: "play-field", "data-part": name },
    h("span", {}, text),
    h("select", { name }, options),
  );

const options = (list: [string, string][]) =>
  list.map(([value, text]) => h("option", { value }, text));

export function controlsTree() {
  return h(
    "form",
    { class: "play-controls", "aria-label": "Settings" },
    segmented("Arithmetic", "arithmetic", [
      ["course", "Course"],
      ["torch", "PyTorch"],
    ]),
    select("Scheme", "scheme", [
      h("optgroup", { label: "One scale and codes" }, options(SCHEMES)),
      h(
        "optgroup",
        { label: "Block types of ggml" },
        options(BLOCK_TYPES.map((name) => [name, name.toUpperCase()])),
      ),
    ]),
    h(
      "label",
      { class: "play-field play-bits", "data-part": "bits" },
      h("span", {}, "Bits"),
      h("input", { type: "range", name: "bits", min: 1, max: 8, step: 1 }),
      h("output", { name: "bitsShown" }),
    ),
    segmented("Codes", "isUnsigned", [
      ["0", "Signed"],
      ["1", "Unsigned"],
    ]),
    segmented("One scale for each", "granularity", [
      ["tensor", "Tensor"],
      ["channel", "Channel"],
      ["group", "Group"],
    ]),
    number("Axis of the channels", "axis", { min: 0, max: 7, step: 1 }),
    number("Values in a group", "groupSize", { min: 1, step: 1 }),
    select("Range", "range", options(RANGES)),
    number("Percentile", "percentile", { min: 50, max: 100 }),
    number("From", "low", {}),
    number("To", "high", {}),
    number("Scale", "scale", { min: 0 }),
    number("Zero point", "zeroPoint", { step: 1 }),
  );
}

/** Connects the form with settings. */
export class Controls {
  form: HTMLFormElement;
  settings: Settings | undefined;
  abilities: Abilities = { bits: [1, 2, 3, 4, 5, 6, 7, 8], hasFloat: true, hasBlocks: true };

  constructor(form: HTMLFormElement, onChange: (settings: Settings) => void) {
    this.form = form;
    this.settings = undefined;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      const settings = this.#read();
      if (settings) onChange(settings);
    });
    // Replaces an incomplete or invalid number by the value in use.
    form.addEventListener("change", () => this.settings && this.show(this.settings));
  }

  /** The form's settings; undefined if a number is not complete. */
  #read(): Settings | undefined {
    const { form, settings } = this;
    if (!settings || !form.checkValidity()) return undefined;
    const given = new FormData(form);
    const text = (name: keyof Settings) => String(given.get(name) ?? settings[name]);
    const read: any = { ...settings };
    for (const name of ["arithmetic", "scheme", "granularity", "range"] as const) {
      read[name] = text(name);
    }
    for (const name of [
      "bits",
      "axis",
      "groupSize",
      "percentile",
      "low",
      "high",
      "scale",
      "zeroPoint",
    ] as const) {
      if (given.get(name) === "") return undefined;
      read[name] = Number(text(name));
    }
    read.isUnsigned = text("isUnsigned") === "1";
    read.bits = this.#nearestBits(read.bits, settings.bits);
    return consistent(read);
  }

  #nearestBits(wanted: number, before: number) {
    const { bits } = this.abilities;
    if (bits.includes(wanted)) return wanted;
    const step = wanted > before ? 1 : -1;
    for (let at = wanted; at >= 1 && at <= 8; at += step) if (bits.includes(at)) return at;
    return before;
  }

  /** Writes settings into the form, and shows the parts that they need. */
  show(settings: Settings) {
    this.settings = settings;
    const { form } = this;
    const block = isBlock(settings);
    const isTorch = settings.arithmetic === "torch";
    for (const [name, value] of Object.entries(settings)) {
      const control = form.elements.namedItem(name);
      const shown = typeof value === "boolean" ? (value ? "1" : "0") : String(value);
      if (control instanceof RadioNodeList) control.value = shown;
      else if (control instanceof HTMLInputElement || control instanceof HTMLSelectElement) {
        // Does not rewrite a number that is being typed if it has the same value.
        const isSame =
          control.type === "number" && control.value !== "" && Number(control.value) === value;
        if (!isSame && control.value !== shown) control.value = shown;
      }
    }
    const { bits, granularity, range, scheme } = settings;
    find(form, "[name=bitsShown]", HTMLOutputElement).value = String(bits);
    const isThere = {
      arithmetic: !block,
      bits: !block,
      isUnsigned: scheme === "affine" || scheme === "float",
      granularity: !block,
      axis: !block && granularity === "channel",
      groupSize: !block && granularity === "group",
      range: !block,
      percentile: !block && range === "percentile",
      low: !block && range === "ends",
      high: !block && range === "ends",
      scale: !block && range === "qparams",
      zeroPoint: !block && range === "qparams" && scheme === "affine",
    };
    for (const [name, shown] of Object.entries(isThere)) {
      const part = find(form, `[data-part="${name}"]`);
      part.hidden = !shown;
      for (const input of part.querySelectorAll<HTMLInputElement>("input, select")) {
        input.disabled = !shown;
      }
    }
    const { hasFloat, hasBlocks } = this.abilities;
    const isOne = granularity === "tensor" && scheme !== "float";
    this.#allow("scheme", "float", hasFloat && !isTorch);
    for (const type of BLOCK_TYPES) this.#allow("scheme", type, hasBlocks);
    this.#allow("range", "mse", !isTorch);
    this.#allow("range", "percentile", !isTorch);
    this.#allow("range", "histogram", isTorch && granularity === "tensor");
    this.#allow("range", "ends", isOne);
    this.#allow("range", "qparams", isOne);
    const group = find(form, 'input[name="granularity"][value="group"]', HTMLInputElement);
    group.disabled = block || isTorch;
  }

  #allow(name: string, value: string, isAllowed: boolean) {
    const option = find(
      this.form,
      `select[name="${name}"] option[value="${value}"]`,
      HTMLOptionElement,
    );
    option.disabled = !isAllowed;
  }
}
