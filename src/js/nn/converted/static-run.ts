// Steps of a quantized model: layers, and runs of static layers between which no value leaves the heap.

import { computesAs, type Layer } from "../../linear/layer.js";
import { ReLU } from "../layers/activations.js";
import type { ConvertedLayer, Flow } from "./layer.js";
import { runStaticLayers, StaticLinear } from "./static-linear.js";

/** A step of a model. Errors name its first layer: the inputs of the others fit by construction. */
export interface Step {
  readonly name: string;
  readonly layer: Layer;
  readonly run: (flow: Flow) => Flow;
}

/** The layers of a model as steps. */
export function stepsOf(layers: readonly ConvertedLayer[]): Step[] {
  const steps: Step[] = [];
  for (let i = 0; i < layers.length; ) {
    const first = layers[i];
    if (!(first instanceof StaticLinear)) {
      steps.push({ name: first.name, layer: first.layer, run: (flow) => first.run(flow) });
      i++;
      continue;
    }
    const run: StaticLinear[] = [];
    const relus: boolean[] = [];
    for (; i < layers.length; i++) {
      const next = layers[i];
      if (next instanceof StaticLinear && follows(next, run.at(-1))) {
        run.push(next);
        relus.push(next.parts.fused === true);
      } else if (computesAs(next.layer, ReLU)) relus[relus.length - 1] = true;
      else break;
    }
    const { name, layer } = first;
    steps.push({ name, layer, run: (flow) => runStaticLayers(run, flow, relus, true) });
  }
  return steps;
}

/** Whether a layer takes the outputs of the one before it, if there is one. */
const follows = ({ weight }: StaticLinear, before: StaticLinear | undefined): boolean =>
  before === undefined || before.weight.outFeatures === weight.inFeatures;
