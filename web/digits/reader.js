// The network of notebook 6 reads a drawn digit: with float32 weights, and with those of 8, 4, 3 and 2 bits.

import address from "../../build/cost/digits.bin?url";
import { decode } from "../../scripts/cost/file.mjs";
import { coreModule } from "../shell/core/core.js";
import { bytesText } from "../shell/drawing/numbers.js";
import { connectPad } from "./pad.js";
import { BITS, GRANULARITIES } from "./reader-tree.js";

/** Milliseconds without a stroke, after which the result is announced. */
const REST = 700;

/**
 * @typedef {import("zeropoint/torch").Sequential | import("zeropoint/torch").QuantizedModel} Network
 * @typedef {{ networksOf: (granularity: number) => Network[], heldOut: { images: import("zeropoint").Tensor,
 *   labels: Uint8Array } }} Reader
 */

/** @type {Promise<Reader> | undefined} */
let loading;

/** @returns {Promise<Reader>} */
async function load() {
  const [zeropoint, torch, response] = await Promise.all([
    import("zeropoint"),
    import("zeropoint/torch"),
    fetch(address),
  ]);
  if (!response.ok) throw new Error(`the digits could not be loaded: ${response.status}`);
  await zeropoint.init({ wasm: coreModule });
  const { layers, heldOut } = await decode(new Uint8Array(await response.arrayBuffer()));
  const [first, second] = layers.map(
    ({ weight, bias }) => new torch.Linear(/** @type {any} */ (weight), { bias }),
  );
  const float = new torch.Sequential({ first, relu: new torch.ReLU(), second });
  /** @type {Map<number, Network[]>} */
  const made = new Map();
  const make = (/** @type {number} */ granularity) =>
    BITS.map((bits) => {
      if (bits === 32) return float;
      const options = { dtype: `int${bits}`, ...GRANULARITIES[granularity][1] };
      const config = new torch.WeightOnlyQConfig(/** @type {any} */ (options));
      return torch.quantizeDynamic(float, config);
    });
  const networksOf = (/** @type {number} */ granularity) => {
    const found = made.get(granularity) ?? make(granularity);
    made.set(granularity, found);
    return found;
  };
  return { networksOf, heldOut };
}

/**
 * @param {HTMLElement} element  what reader-tree.js makes
 * @param {(message: string) => void} announce
 */
export function connectReader(element, announce) {
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (element.querySelector(selector));
  const status = find(".reader-status");
  const select = /** @type {HTMLSelectElement} */ (find("select"));
  /** @type {Float32Array | undefined} */
  let drawn;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let resting;

  const start = async () => {
    try {
      loading ??= load();
      const reader = await loading;
      status.textContent = "Weights of two layers; sums and biases stay float32.";
      return reader;
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
  const say = (/** @type {string} */ message) => {
    status.textContent = message;
  };

  const read = async () => {
    clearTimeout(resting);
    try {
      const networks = (await start()).networksOf(Number(select.value));
      const answers = networks.map((network, i) => {
        const row = /** @type {HTMLElement} */ (element.querySelectorAll("tbody tr")[i]);
        return showAnswer(row, network, drawn);
      });
      if (!drawn) return;
      const spoken = answers.map((answer, i) => `${BITS[i]} bits: ${answer}`).join(", ");
      resting = setTimeout(() => announce(spoken), REST);
    } catch (error) {
      say(/** @type {Error} */ (error).message);
    }
  };

  connectPad(find(".reader-draw"), {
    onChange: (pixels) => {
      drawn = pixels;
      read();
    },
    take: async (label, number) => {
      const { images, labels } = (await start()).heldOut;
      const places = [...labels.keys()].filter((i) => labels[i] === label);
      const i = places[number % places.length];
      const pixels = images.data.subarray(784 * i, 784 * (i + 1));
      return Uint8Array.from(pixels, (value) => Math.round(15 * value));
    },
    onProblem: say,
  });
  select.addEventListener("change", read);
  element.hidden = false;
}

/**
 * @param {HTMLElement} row
 * @param {Network} network
 * @param {Float32Array | undefined} pixels
 * @returns {number | undefined} the digit that it reads
 */
function showAnswer(row, network, pixels) {
  const find = (/** @type {string} */ selector) =>
    /** @type {HTMLElement} */ (row.querySelector(selector));
  find(".reader-bytes").textContent = bytesText(network.sizeInBytes);
  const bars = find(".reader-bars");
  const probabilities = pixels && probabilitiesOf(network, pixels);
  const answer = probabilities?.indexOf(Math.max(...probabilities));
  for (const [i, bar] of [...bars.children].entries()) {
    /** @type {HTMLElement} */ (bar).style.setProperty("--p", String(probabilities?.[i] ?? 0));
    bar.classList.toggle("is-answer", i === answer);
  }
  if (!probabilities || answer === undefined) {
    find(".reader-reads").textContent = "";
    bars.setAttribute("aria-label", "nothing drawn");
    return undefined;
  }
  const percent = (/** @type {number} */ p) => `${Math.round(100 * p)} %`;
  find(".reader-reads").textContent = `${answer}, ${percent(probabilities[answer])}`;
  bars.setAttribute(
    "aria-label",
    probabilities.map((p, digit) => `${digit}: ${percent(p)}`).join(", "),
  );
  return answer;
}

/**
 * @param {Network} network
 * @param {Float32Array} pixels
 */
function probabilitiesOf(network, pixels) {
  const { data } = /** @type {import("zeropoint").Tensor} */ (
    network.forward({ data: pixels, shape: [1, 784] })
  );
  const largest = Math.max(...data);
  const powers = Array.from(data, (score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}
