// The network of notebook 6 reads a drawn digit: with float32 weights, and with those of 8, 4, 3 and 2 bits.

import type { Tensor } from "zeropoint";
import type { QuantizedModel, Sequential } from "zeropoint/torch";
import address from "../../build/cost/digits.bin?url";
import { decode } from "../../scripts/cost/file.mjs";
import { coreModule } from "../shell/core/core.js";
import { find } from "../shell/dom.js";
import { bytesText } from "../shell/drawing/numbers.js";
import { messageOf } from "../shell/message-of.js";
import { connectPad } from "./pad.js";
import { BITS, GRANULARITIES } from "./reader-tree.js";

/** Milliseconds without a stroke, after which the result is announced. */
const REST = 700;

type Network = Sequential | QuantizedModel;

type Reader = {
  networksOf: (granularity: number) => Network[];
  heldOut: { images: Tensor; labels: Uint8Array };
};

let loading: Promise<Reader> | undefined;

async function load(): Promise<Reader> {
  const [zeropoint, torch, response] = await Promise.all([
    import("zeropoint"),
    import("zeropoint/torch"),
    fetch(address),
  ]);
  if (!response.ok) throw new Error(`the digits could not be loaded: ${response.status}`);
  await zeropoint.init({ wasm: coreModule });
  const { layers, heldOut } = await decode(new Uint8Array(await response.arrayBuffer()));
  const [first, second] = layers.map(
    ({ weight, bias }) => new torch.Linear(weight as any, { bias }),
  );
  const float = new torch.Sequential({ first, relu: new torch.ReLU(), second });
  const made = new Map<number, Network[]>();
  const make = (granularity: number) =>
    BITS.map((bits) => {
      if (bits === 32) return float;
      const options = { dtype: `int${bits}`, ...GRANULARITIES[granularity][1] };
      const config = new torch.WeightOnlyQConfig(options as any);
      return torch.quantizeDynamic(float, config);
    });
  const networksOf = (granularity: number) => {
    const found = made.get(granularity) ?? make(granularity);
    made.set(granularity, found);
    return found;
  };
  return { networksOf, heldOut };
}

/** @param element  what reader-tree.ts makes */
export function connectReader(element: HTMLElement, announce: (message: string) => void) {
  const status = find(element, ".reader-status");
  const select = find(element, "select", HTMLSelectElement);
  let drawn: Float32Array | undefined;
  let resting: ReturnType<typeof setTimeout> | undefined;

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
  const say = (message: string) => {
    status.textContent = message;
  };

  const read = async () => {
    clearTimeout(resting);
    try {
      const networks = (await start()).networksOf(Number(select.value));
      const answers = networks.map((network, i) => {
        const row = element.querySelectorAll("tbody tr")[i] as HTMLElement;
        return showAnswer(row, network, drawn);
      });
      if (!drawn) return;
      const spoken = answers.map((answer, i) => `${BITS[i]} bits: ${answer}`).join(", ");
      resting = setTimeout(() => announce(spoken), REST);
    } catch (error) {
      say(messageOf(error));
    }
  };

  connectPad(find(element, ".reader-draw"), {
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

/** @returns the digit that it reads */
function showAnswer(
  row: HTMLElement,
  network: Network,
  pixels: Float32Array | undefined,
): number | undefined {
  find(row, ".reader-bytes").textContent = bytesText(network.sizeInBytes);
  const bars = find(row, ".reader-bars");
  const probabilities = pixels && probabilitiesOf(network, pixels);
  const answer = probabilities?.indexOf(Math.max(...probabilities));
  for (const [i, bar] of bars.querySelectorAll<HTMLElement>(":scope > *").entries()) {
    bar.style.setProperty("--p", String(probabilities?.[i] ?? 0));
    bar.classList.toggle("is-answer", i === answer);
  }
  if (!probabilities || answer === undefined) {
    find(row, ".reader-reads").textContent = "";
    bars.setAttribute("aria-label", "nothing drawn");
    return undefined;
  }
  const percent = (p: number) => `${Math.round(100 * p)} %`;
  find(row, ".reader-reads").textContent = `${answer}, ${percent(probabilities[answer])}`;
  bars.setAttribute(
    "aria-label",
    probabilities.map((p, digit) => `${digit}: ${percent(p)}`).join(", "),
  );
  return answer;
}

function probabilitiesOf(network: Network, pixels: Float32Array) {
  const { data } = network.forward({ data: pixels, shape: [1, 784] }) as Tensor;
  const largest = Math.max(...data);
  const powers = Array.from(data, (score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}
