// Inputs by drop: arrays that are used, each for a layer or an input of the model, and refused ones with the reason.

import { find } from "../../shell/dom.js";
import { nounText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";
import { connectDrop } from "../../shell/drop.js";
import { messageOf } from "../../shell/message-of.js";
import { shapeText } from "../format.js";
import { addInputs, removeInputs, type Taken } from "../model/inputs.js";

/** @param context  onWeights: called with the weights whose inputs have changed */
export function connectInputs(
  parent: HTMLElement,
  {
    announce,
    onWeights,
    onProblem,
  }: {
    announce: (message: string) => void;
    onWeights: (names: string[]) => void;
    onProblem: (message: string) => void;
  },
) {
  const list = find(parent, ".lab-inputs-list");
  const remove = find(parent, "[data-action='remove-inputs']");
  /** Used arrays by their weight or input. */
  let taken = new Map<string, Taken>();
  /** Refused arrays of the last drop. */
  let refused: Taken[] = [];
  /** All arrays that were given. */
  let given: Taken[] = [];
  const forget = () => {
    [taken, refused, given] = [new Map(), [], []];
  };

  const draw = () => {
    remove.hidden = taken.size === 0;
    const lines = [...taken.values(), ...refused].map((each) => toDom(line(each)));
    list.replaceChildren(...lines);
  };

  const add = async (files: File[]) => {
    try {
      const fresh = await addInputs(files);
      const used = fresh.filter(({ problem }) => !problem);
      for (const each of used) taken.set(keyOf(each), each);
      refused = fresh.filter(({ problem }) => problem);
      given.push(...fresh);
      draw();
      announce(`${used.length} of ${nounText(fresh.length, "array")} used as inputs.`);
      const weights = new Set(used.flatMap(({ weight, weights = [] }) => weight ?? weights));
      if (weights.size > 0) onWeights([...weights]);
    } catch (error) {
      onProblem(messageOf(error));
    }
  };
  connectDrop(parent, find(parent, "input", HTMLInputElement), add, {
    // A file of another kind is the next model.
    takes: (files) => files.some(({ name }) => /\.np[yz]$/i.test(name)),
  });
  remove.addEventListener("click", () => {
    const weights = removeInputs();
    forget();
    draw();
    find(parent, "input").focus();
    announce("Inputs removed.");
    if (weights.length > 0) onWeights(weights);
  });

  return {
    add,
    /** Files whose arrays are inputs of weights, those of them that have other arrays as well, and the importance matrix. */
    files() {
      const used = new Set([...taken.values()].filter(({ weight }) => weight));
      const inputs = [...new Set([...used].map(({ file }) => file))];
      const others = new Set(given.filter((each) => !used.has(each)).map(({ file }) => file));
      const imatrix = [...taken.values()].find(({ weights }) => weights)?.file;
      return { inputs, partly: inputs.filter((file) => others.has(file)), imatrix };
    },
    /**
     * For another file.
     * @param inputs  of the model
     */
    reset(inputs: readonly any[]) {
      forget();
      draw();
      const names = inputs.map(({ name, dtype, shape }) => {
        const lengths = shape?.map((length: any) => length ?? "?") ?? [];
        return `${name} (${dtype ?? "unknown"} ${shapeText(lengths)})`;
      });
      const hint = find(parent, ".lab-inputs-model");
      hint.hidden = names.length === 0;
      hint.textContent = `An array named labels has the right classes. Arrays named like an input of the model are its inputs when both models are run: ${names.join(", ")}.`;
    },
  };
}

/** Of one use there is one array or matrix. */
const keyOf = ({ weight, weights, input }: Taken) => weight ?? input ?? (weights ? "*" : "");

function line({ name, shape, weight, weights, input, areLabels, problem }: Taken) {
  const use = weight
    ? `inputs of ${weight}: errors of its outputs are shown`
    : weights
      ? `importance of the inputs of ${nounText(weights.length, "weight")}: errors of their outputs are estimated from it. GGUF files are rounded by it, the table has errors of rounding without it`
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
      : weight || weights || input || areLabels
        ? `: ${use}`
        : "",
  );
}
