// Numbers with units, formatted and parsed: sizes, bits per weight, shares, decibels, times.

const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
  ti: 2 ** 40,
};

const NUMBER = String.raw`(\d+(?:\.\d+)?|\.\d+)`;
const SIZE = new RegExp(`^${NUMBER} ?([kmgt]i?|)(b|bytes?|)$`, "i");
const BITS = new RegExp(`^${NUMBER} ?(?:bpw|bits?)$`, "i");
const PERCENT = new RegExp(`^${NUMBER} ?%$`);
const DECIBELS = new RegExp(`^${NUMBER} ?db$`, "i");

/** A size: "1.5GB", "40MiB", "40M", "1234". @returns bytes, or undefined if it is none */
export function parseBytes(text: string): number | undefined {
  const [, number, prefix] = SIZE.exec(text.trim()) ?? [];
  if (number === undefined) return undefined;
  return Math.floor(Number(number) * FACTORS[prefix.toLowerCase()]);
}

/** A budget: bytes, bits per weight, or a share of the original size. */
export type Budget =
  | { readonly bytes: number }
  | { readonly bitsPerWeight: number }
  | { readonly ratio: number };

/** A budget: "40MB", "4.5bpw", "25%". @returns undefined if it is none */
export function parseBudget(text: string): Budget | undefined {
  const trimmed = text.trim();
  const [, bits] = BITS.exec(trimmed) ?? [];
  if (bits !== undefined) return { bitsPerWeight: Number(bits) };
  const [, percent] = PERCENT.exec(trimmed) ?? [];
  if (percent !== undefined) return { ratio: Number(percent) / 100 };
  const bytes = parseBytes(trimmed);
  return bytes === undefined ? undefined : { bytes };
}

/** A ratio of energies: "40dB", "40". @returns decibels, or undefined if it is none */
export function parseDecibels(text: string): number | undefined {
  const trimmed = text.trim();
  const [, decibels] = DECIBELS.exec(trimmed) ?? [];
  if (decibels !== undefined) return Number(decibels);
  return trimmed !== "" && Number.isFinite(Number(trimmed)) ? Number(trimmed) : undefined;
}

/** A number and the unit of three digits that fits it. */
function scaled(value: number, units: readonly string[]): string {
  let rest = value;
  let unit = 0;
  while (rest >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit++;
  }
  const digits = unit === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
  return `${rest.toFixed(digits)} ${units[unit]}`.trimEnd();
}

/** Bytes: "512 B", "1.50 GB", decimal as file managers and shops count. */
export const showBytes = (bytes: number): string => scaled(bytes, ["B", "kB", "MB", "GB", "TB"]);

/** A count: "49.3 M". */
export const showCount = (count: number): string => scaled(count, ["", "k", "M", "G", "T"]);

/** A share: "98.2 %". */
export const showPercent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** A time: "9.5 s", "3 min 20 s", "2 h 05 min". */
export function showTime(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 99.5) return `${seconds.toFixed(0)} s`;
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** A measured value in a table: four significant digits, without a long tail of zeros. */
export function showNumber(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}
