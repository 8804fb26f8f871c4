// Inputs by drop: arrays that are used, each for a layer or an input of the model, and refused ones with the reason.

import { useRef } from "preact/hooks";
import { nounText } from "../../shell/drawing/numbers.js";
import { FileButton } from "../../shell/file-button.js";
import { messageOf } from "../../shell/message-of.js";
import { shapeText } from "../format.js";
import type { Header } from "../model/commands.js";
import { addInputs, removeInputs, type Taken } from "../model/inputs.js";
import { Button } from "./parts.js";

interface Context {
  draw: () => void;
  announce: (message: string) => void;
  /** Called with the weights whose inputs have changed. */
  onWeights: (names: string[]) => void;
  onProblem: (message: string) => void;
}

/** The arrays that were given for the opened model. */
export class Inputs {
  /** Used arrays by their weight or input. */
  taken = new Map<string, Taken>();
  /** Refused arrays of the last drop. */
  refused: Taken[] = [];
  #given: Taken[] = [];
  #context;

  constructor(context: Context) {
    this.#context = context;
  }

  add = async (files: File[]) => {
    const weights = await this.take(files);
    if (weights.length > 0) this.#context.onWeights(weights);
  };

  /** @returns the weights whose inputs have changed */
  async take(files: File[]): Promise<string[]> {
    const { draw, announce, onProblem } = this.#context;
    try {
      const fresh = await addInputs(files);
      const used = fresh.filter(({ problem }) => !problem);
      for (const each of used) {
        for (const weight of each.weights ?? []) this.taken.delete(weight);
        this.taken.set(keyOf(each), each);
      }
      this.refused = fresh.filter(({ problem }) => problem);
      this.#given.push(...fresh);
      draw();
      announce(`${used.length} of ${nounText(fresh.length, "array")} used as inputs.`);
      return [...new Set(used.flatMap(({ weight, weights = [] }) => weight ?? weights))];
    } catch (error) {
      onProblem(messageOf(error));
      return [];
    }
  }

  remove() {
    const { draw, announce, onWeights } = this.#context;
    const weights = removeInputs();
    this.forget();
    draw();
    announce("Inputs removed.");
    if (weights.length > 0) onWeights(weights);
  }

  /** For another model. */
  forget() {
    [this.taken, this.refused, this.#given] = [new Map(), [], []];
  }

  /** Files whose arrays are inputs of weights, those of them that have other arrays as well, and the importance matrix. */
  get files() {
    const all = [...this.taken.values()];
    const used = new Set(all.filter(({ weight }) => weight));
    const inputs = [...new Set([...used].map(({ file }) => file))];
    const others = new Set(this.#given.filter((each) => !used.has(each)).map(({ file }) => file));
    const imatrix = all.find(({ weights }) => weights)?.file;
    return { inputs, partly: inputs.filter((file) => others.has(file)), imatrix };
  }
}

/** Of one use there is one array or matrix. */
const keyOf = ({ weight, weights, input }: Taken) => weight ?? input ?? (weights ? "*" : "");

/** @param model  the inputs of the model */
export function InputsView({ inputs, model }: { inputs: Inputs; model: Header["inputs"] }) {
  const { taken, refused } = inputs;
  const button = useRef<HTMLInputElement>(null);
  const remove = () => {
    inputs.remove();
    button.current?.focus();
  };
  const names = model.map(({ name, dtype, shape = [] }) => {
    const lengths = shape.map((length) => length ?? "?").join(" × ") || "scalar";
    return `${name} (${dtype ?? "unknown"} ${lengths})`;
  });
  return (
    <div class="lab-inputs lab-drop">
      <p>
        <FileButton
          title="Add inputs"
          area=".lab-inputs"
          accept=".npy,.npz,.gguf"
          onFiles={inputs.add}
          // A file of another kind is the next model.
          drop={{ takes: (files) => files.some(({ name }) => /\.np[yz]$/i.test(name)) }}
          input={button}
        />{" "}
        <Button action="remove-inputs" hidden={taken.size === 0} onClick={remove}>
          Remove inputs
        </Button>
      </p>
      <p>
        or drop them here: an .npy file named after a weight (<code>fc1.weight.npy</code> or{" "}
        <code>fc1.npy</code>), or an .npz file with arrays named so, of shape [samples, inputs]. The
        table then shows the errors of the layer's outputs. For GGUF also the importance matrix that
        llama-imatrix writes, which rounds the file, too.
      </p>
      <p class="lab-inputs-model" hidden={names.length === 0}>
        An array named labels has the right classes. Arrays named like an input of the model are its
        inputs when both models are run: {names.join(", ")}.
      </p>
      <ul class="lab-inputs-list">
        {[...linesOf([...taken.values()]), ...refused].map((each) => (
          <Line {...each} />
        ))}
      </ul>
    </div>
  );
}

/** Arrays of a file that have a line each, if they are inputs of weights. */
const MOST_LINES = 8;

/** Used arrays; those of a file with the inputs of many weights as one. */
function linesOf(taken: readonly Taken[]): (Taken & { layers?: number })[] {
  const counts = new Map<string, number>();
  for (const { weight, file } of taken) if (weight) counts.set(file, (counts.get(file) ?? 0) + 1);
  const written = new Set<string>();
  return taken.flatMap((each) => {
    const { file, weight } = each;
    const layers = weight ? (counts.get(file) ?? 0) : 0;
    if (layers <= MOST_LINES) return [each];
    if (written.has(file)) return [];
    written.add(file);
    return [{ file, name: file, layers }];
  });
}

function useOf({ weight, weights, input, areLabels, layers }: Taken & { layers?: number }) {
  if (layers) return `: inputs of ${nounText(layers, "layer")}: errors of their outputs are shown`;
  if (weight) return `: inputs of ${weight}: errors of its outputs are shown`;
  if (weights)
    return `: importance of the inputs of ${nounText(weights.length, "weight")}: errors of their outputs are estimated from it. GGUF files are rounded by it, the table has errors of rounding without it`;
  if (areLabels) return ": right classes of the inputs, for the accuracy of both models";
  return input ? ": input of the model, for running both models" : "";
}

const Line = (taken: Taken & { layers?: number }) => (
  <li class={taken.problem && "is-refused"}>
    <code>{taken.name}</code>
    {taken.shape && ` ${shapeText(taken.shape)}`}
    {taken.problem ? (
      <>
        : <strong>not used</strong>, {taken.problem}
      </>
    ) : (
      useOf(taken)
    )}
  </li>
);
