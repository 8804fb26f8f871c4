// Types of suite.mjs, for the page.

export interface Sizes {
  pace: { rounds: number; sampleMs: number; warmUpMs: number; budgetMs?: number };
}

export const SIZES: Record<"full" | "quick" | "quick-node" | "builds" | "smoke" | "page", Sizes>;

export interface CaseResults {
  title: string;
  /** Number of finished cases, including this one. */
  done: number;
  total: number;
  results: unknown[];
}

export function runSuite(
  engine: {
    name: string;
    zeropoint: unknown;
    torch: unknown;
    cores: { build: string; load: () => Promise<unknown> }[];
    ort?: unknown;
    tf?: unknown;
    limits: Record<string, () => Promise<WebAssembly.Module>>;
  },
  sizes: Sizes,
  log: (line: string) => void,
  onCase?: (results: CaseResults) => void,
): Promise<{ results: unknown[]; unavailable: { name: string; reason: string }[] }>;
