// Inputs by drop: arrays that are used, each for a layer or an input of the model, and refused ones with the reason.

import { nounText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { connectDrop } from "../../shell/drop.js";
import { shapeText } from "../format.js";
import { addInputs, removeInputs } from "../model/inputs.js";

/** @typedef {import("../model/inputs.js").Taken} Taken */

/**
 * @param {HTMLElement} parent
 * @param {{ announce: (message: string) => void,
 *   onWeights: (names: string[]) => void, onProblem: (message: string) => void }} context
 *   onWeights: called with the weights whose inputs have changed
 */
export function connectInputs(parent, { announce, onWeights, onProblem }) {
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (parent.querySelector(selector));
  const list = find(".lab-inputs-list");
  const remove = find("[data-action='remove-inputs']");
  /** Used arrays by their weight or input. @type {Map<string, Taken>} */
  let taken = new Map();
  /** Refused arrays of the last drop. @type {Taken[]} */
  let refused = [];
  /** All arrays that were given. @type {Taken[]} */
  let given = [];
  const forget = () => {
    [taken, refused, given] = [new Map(), [], []];
  };

  const draw = () => {
    remove.hidden = taken.size === 0;
    const lines = [...taken.values(), ...refused].map((each) => toDom(line(each)));
    list.replaceChildren(...lines);
  };

  const add = async (/** @type {File[]} */ files) => {
    try {
      const fresh = await addInputs(files);
      const used = fresh.filter(({ problem }) => !problem);
      for (const each of used) taken.set(each.weight ?? each.input ?? "", each);
      refused = fresh.filter(({ problem }) => problem);
      given.push(...fresh);
      draw();
      announce(`${used.length} of ${nounText(fresh.length, "array")} used as inputs.`);
      const weights = new Set(used.flatMap(({ weight }) => weight ?? []));
      if (weights.size > 0) onWeights([...weights]);
    } catch (error) {
      onProblem(/** @type {Error} */ (error).message);
    }
  };
  connectDrop(parent, /** @type {HTMLInputElement} */ (find("input")), add, {
    // A file of another kind is the next model.
    takes: (files) => files.some(({ name }) => /\.np[yz]$/i.test(name)),
  });
  remove.addEventListener("click", () => {
    const weights = removeInputs();
    forget();
    draw();
    find("input").focus();
    announce("Inputs removed.");
    if (weights.length > 0) onWeights(weights);
  });

  return {
    add,
    /** Files whose arrays are inputs of weights, and those of them that have other arrays as well. */
    files() {
      const used = new Set([...taken.values()].filter(({ weight }) => weight));
      const inputs = [...new Set([...used].map(({ file }) => file))];
      const others = new Set(given.filter((each) => !used.has(each)).map(({ file }) => file));
      return { inputs, partly: inputs.filter((file) => others.has(file)) };
    },
    /** For another file. @param {readonly any[]} inputs  of the model */
    reset(inputs) {
      forget();
      draw();
      const names = inputs.map(({ name, dtype, shape }) => {
        const lengths = shape?.map((/** @type {any} */ length) => length ?? "?") ?? [];
        return `${name} (${dtype ?? "unknown"} ${shapeText(lengths)})`;
      });
      const hint = find(".lab-inputs-model");
      hint.hidden = names.length === 0;
      hint.textContent = `An array named labels has the right classes. Arrays named like an input of the model are its inputs when both models are run: ${names.join(", ")}.`;
    },
  };
}

/** @param {Taken} each */
function line({ name, shape, weight, input, areLabels, problem }) {
  const use = weight
    ? `inputs of ${weight}: errors of its outputs are shown`
    : areLabels
      ? "right classes of the inputs, for the accuracy of both models"
      : "input of the model, for running both models";
  return h(
    "li",
    { class: problem ? "is-refused" : "" },
    h("code", {}, name),
    shape && ` ${shapeText(shape)}`,
    problem
      ? [": ", h("strong", {}, "not used"), `, ${problem}`]
      : weight || input || areLabels
        ? `: ${use}`
        : "",
  );
}
