// --activations: inputs of weights, in arrays of .npy and .npz files that have the weights' names.

import { basename } from "node:path";
import { InputMoments } from "../../models/inputs/moments.js";
import type { Model } from "../../models/open/model.js";
import type { Arguments } from "../arguments.js";
import { EXIT, Failure, usage } from "../failures.js";
import { openInput } from "../input.js";

/** Inputs of weights, by the weights' names. */
export type Inputs = ReadonlyMap<string, InputMoments>;

/** Checks that there are inputs for the error of outputs. @throws {Failure} */
export function checkHasInputs(args: Arguments): void {
  if (args.has("activations")) return;
  throw usage("--metric output needs --activations, the inputs of weights");
}

/**
 * Reads the files of --activations.
 * @param tensors  of the model
 * @throws {Failure} for a file of another format, and for an array whose name is not that of a tensor
 */
export async function readActivations(
  args: Arguments,
  tensors: Model["tensors"],
  signal: AbortSignal,
): Promise<Inputs> {
  const inputs = new Map<string, InputMoments>();
  for (const path of args.list("activations")) {
    const fail = (problem: string) => new Failure(EXIT.input, `--activations ${path}: ${problem}`);
    const arrays = await openInput(path, signal, args);
    try {
      if (arrays.format !== "npy" && arrays.format !== "npz") {
        throw fail(`inputs are .npy or .npz files, not ${arrays.format}`);
      }
      for (const { name: own, shape } of arrays.tensors.values()) {
        // The array of a .npy file has the name of the file.
        const name = arrays.format === "npy" ? basename(path).replace(/\.npy$/i, "") : own;
        const weight = [name, `${name}.weight`].find((each) => tensors.has(each));
        if (weight === undefined) throw fail(`the model has no weight ${JSON.stringify(name)}`);
        if (shape.length === 0) throw fail(`the array ${JSON.stringify(name)} has no axis`);
        const known = inputs.get(weight) ?? new InputMoments(shape[shape.length - 1]);
        inputs.set(weight, known.add(await arrays.read(own)));
      }
    } finally {
      await arrays.close();
    }
  }
  return inputs;
}
