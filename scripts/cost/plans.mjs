// Mixes of llama-quantize, and plans of the same sizes by errors of weights and of outputs: the held-out digits that the
// network of 25 layers then reads rightly.
//
//   node scripts/cost/plans.mjs 7 1 2     trains the network with these seeds, and prints a table for each

import { init } from "zeropoint";
import { analyze, openModel, plan, quantizeModel, storedRows } from "zeropoint/models";
import { runAsScript } from "../process/run.mjs";
import { readDigits, splitDigits } from "./digits.mjs";
import { deepName, gainName, ggufOf, layerInputs, named } from "./samples.mjs";
import { deepAccuracy, LAYERS, trainDeep } from "./train-deep.mjs";

const MIXES = ["Q3_K_M", "Q4_0", "Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0"];

/** The layers of a model of the network, whose tensors may be in any order. */
async function layersOf(model) {
  const read = async (name) =>
    model.tensors.has(name) ? (await model.read(name)).data : undefined;
  const layers = Array.from({ length: LAYERS + 1 }, async (_, i) => {
    const name = deepName(i);
    const [weight, bias, gain] = [`${name}.weight`, `${name}.bias`, gainName(name)].map(read);
    return { weight: await weight, bias: await bias, gain: await gain };
  });
  return await Promise.all(layers);
}

/** Rows of an analysis with the bytes of the file. */
async function rowsOf(model, options) {
  const rows = [];
  for await (const row of analyze(model, options)) rows.push(row);
  return await storedRows(model, rows);
}

/**
 * @param model  the network as GGUF
 * @param inputs  of its layers
 * @param {import("./digits.mjs").Digits} heldOut
 * @returns for each mix its bytes, and the accuracy of the mix and of the plans that fit in as many
 */
export async function measurePlans(model, inputs, heldOut) {
  const write = async (choice) => {
    const { files } = await quantizeModel(model, choice);
    const written = await openModel(await new Response(files[0].stream()).arrayBuffer());
    const accuracy = deepAccuracy(await layersOf(written), heldOut);
    await written.close();
    return { bytes: files[0].size, accuracy };
  };
  const activations = {};
  for (const name of inputs.tensors.keys()) activations[name] = await inputs.read(name);
  const ofWeights = await rowsOf(model, {});
  const ofOutputs = await rowsOf(model, { activations });
  const results = [];
  for (const name of MIXES) {
    const mix = await write(name);
    const [byWeights, byOutputs] = [
      await write(plan(ofWeights, { bytes: mix.bytes })),
      await write(plan(ofOutputs, { bytes: mix.bytes })),
    ];
    results.push({ name, mix, byWeights, byOutputs });
  }
  return results;
}

await runAsScript(import.meta.url, async () => {
  await init();
  const { training, heldOut, calibration } = splitDigits(readDigits());
  for (const seed of process.argv.slice(2).map(Number)) {
    const layers = named(trainDeep(training, seed));
    const model = await openModel(await ggufOf(layers));
    const inputs = await openModel(await layerInputs(layers, calibration));
    const percent = (share) => `${(100 * share).toFixed(2)} %`;
    console.log(`Seed ${seed}: ${percent(deepAccuracy(layers, heldOut))} in float32`);
    for (const { name, ...each } of await measurePlans(model, inputs, heldOut)) {
      const texts = Object.entries(each).map(
        ([key, { bytes, accuracy }]) => `${key} ${bytes} B ${percent(accuracy)}`,
      );
      console.log(`  ${name.padEnd(7)} ${texts.join("   ")}`);
    }
  }
});
