// Random tensors, drawn by PyTorch's generator from a seed: torch.rand and torch.randn give the same numbers.

import type { Values } from "./parse.js";

export interface Generated {
  /** A key of GENERATORS. */
  generator: string;
  rows: number;
  columns: number;
  seed: number;
}

/** The course's tensor: fixed values, without a seed. */
const COURSE = [191.6, -13.5, 728.6, 92.14, 295.5, -184, 0, 684.6, 245.5];

interface Torch {
  manual_seed: (seed: number) => void;
  rand: (...sizes: number[]) => { data: ArrayLike<number> };
  randn: (...sizes: number[]) => { data: ArrayLike<number> };
}

/** For each generator its name, its values, and PyTorch's code for them. */
export const GENERATORS: Record<
  string,
  {
    name: string;
    draw: (torch: Torch, rows: number, columns: number) => ArrayLike<number>;
    python: (size: string) => string[];
  }
> = {
  normal: {
    name: "Normal",
    draw: (torch, rows, columns) => torch.randn(rows, columns).data,
    python: (size) => [`x = torch.randn(${size})`],
  },
  uniform: {
    name: "Uniform, 0 to 1",
    draw: (torch, rows, columns) => torch.rand(rows, columns).data,
    python: (size) => [`x = torch.rand(${size})`],
  },
  laplace: {
    name: "Laplace",
    draw: (torch, rows, columns) =>
      Array.from(torch.rand(rows, columns).data, (uniform) => {
        const u = uniform - 0.5;
        // For the smallest uniform number, 0, the logarithm would be −Infinity.
        return -Math.sign(u) * Math.log(Math.max(1 - 2 * Math.abs(u), 2 ** -24));
      }),
    python: (size) => [
      `u = torch.rand(${size}) - 0.5`,
      "x = -u.sign() * torch.log((1 - 2 * u.abs()).clamp(min=2**-24))",
    ],
  },
  relu: {
    name: "ReLU of normal",
    draw: (torch, rows, columns) =>
      Array.from(torch.randn(rows, columns).data, (value) => Math.max(0, value)),
    python: (size) => [`x = torch.randn(${size}).relu()`],
  },
  rows: {
    name: "Rows of different size",
    // The first row is 64 times as large as the last.
    draw: (torch, rows, columns) =>
      Array.from(
        torch.randn(rows, columns).data,
        (value, i) => value * 2 ** ((-6 * Math.floor(i / columns)) / Math.max(1, rows - 1)),
      ),
    python: (size) => [
      `x = torch.randn(${size})`,
      "x = x * 2 ** (-6 * torch.arange(len(x)) / max(1, len(x) - 1)).unsqueeze(1)",
    ],
  },
  outlier: {
    name: "One outlier",
    draw(torch, rows, columns) {
      const values = Float32Array.from(torch.randn(rows, columns).data);
      values[Math.floor(values.length / 2)] = 24;
      return values;
    },
    python: (size) => [`x = torch.randn(${size})`, "x.flatten()[x.numel() // 2] = 24"],
  },
  course: {
    name: "The course's 3 × 3 tensor",
    draw: () => COURSE,
    python: () => [
      "x = torch.tensor([[191.6, -13.5, 728.6], [92.14, 295.5, -184], [0, 684.6, 245.5]])",
    ],
  },
};

export function generate(torch: Torch, { generator, rows, columns, seed }: Generated): Values {
  torch.manual_seed(seed);
  if (generator === "course") return { values: Float32Array.from(COURSE), shape: [3, 3] };
  const values = GENERATORS[generator].draw(torch, rows, columns);
  return { values: Float32Array.from(values), shape: [rows, columns] };
}
