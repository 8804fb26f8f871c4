// What the engine can do: asked by small modules, never by its name.

/** Which builds an engine runs, and why not. */
export interface Engine {
  /** WebAssembly's 128-bit SIMD. */
  readonly simd: boolean;
  /** Relaxed SIMD: `"wrong"` where it is there and computes wrongly. */
  readonly relaxed: boolean | "wrong";
}

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]; // "\0asm", version 1

/** (func (result v128) (f32x4.nearest (f32x4.splat (f32.const 0)))): rounds as the kernels do. */
const SIMD_PROBE = /* @__PURE__ */ new Uint8Array([
  ...HEADER,
  ...[0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b], // type section: () -> v128
  ...[0x03, 0x02, 0x01, 0x00], // function section: one function of that type
  ...[0x0a, 0x0d, 0x01, 0x0b, 0x00], // code section: one body of 11 bytes, no locals
  ...[0x43, 0x00, 0x00, 0x00, 0x00, 0xfd, 0x13, 0xfd, 0x6a, 0x0b],
]);

/** int8 weights, 7-bit digits and a sum, at both ends of what the kernels multiply. */
const WEIGHTS = [-128, -128, -128, -128, 127, 127, 127, 127, 1, -2, 3, -4, 100, -100, 50, -50];
const DIGITS = [127, 127, 127, 127, 127, 127, 127, 127, 1, 2, 3, 4, 127, 1, 64, 3];
const SUMS = [1, -2, 1000, -70000];
/** SUMS[i] + the four products of lane i: worked by hand. */
const KNOWN = [-65023, 64514, 990, -54350];

const int32Bytes = (values: readonly number[]): number[] => [
  ...new Uint8Array(new Int32Array(values).buffer),
];
const v128Const = (bytes: readonly number[]): number[] => [
  ...[0xfd, 0x0c],
  ...bytes.map((byte) => byte & 0xff),
];

/**
 * Whether `i32x4.relaxed_dot_i8x16_i7x16_add_s` gives the known values:
 * (func (export "f") (result i32)
 *   (i32x4.all_true (i32x4.eq (i32x4.relaxed_dot_i8x16_i7x16_add_s … … …) …)))
 */
function relaxedProbe(): Uint8Array<ArrayBuffer> {
  const body = [
    ...[0x00], // no locals
    ...v128Const(WEIGHTS),
    ...v128Const(DIGITS),
    ...v128Const(int32Bytes(SUMS)),
    ...[0xfd, 0x93, 0x02], // i32x4.relaxed_dot_i8x16_i7x16_add_s
    ...v128Const(int32Bytes(KNOWN)),
    ...[0xfd, 0x37, 0xfd, 0xa3, 0x01, 0x0b], // i32x4.eq, i32x4.all_true, end
  ];
  return new Uint8Array([
    ...HEADER,
    ...[0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7f], // type section: () -> i32
    ...[0x03, 0x02, 0x01, 0x00], // function section: one function of that type
    ...[0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00], // export section: it is called "f"
    ...[0x0a, body.length + 2, 0x01, body.length, ...body], // code section: both below 128
  ]);
}

/** Whether a module runs and its function "f" says that all is right. */
function isRight(bytes: Uint8Array<ArrayBuffer>): boolean {
  try {
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
    return (instance.exports as { f: () => number }).f() === 1;
  } catch {
    return false;
  }
}

/** Asks the engine which builds it runs, without loading anything. What it computes nobody knows yet. */
export function askEngine(): Engine {
  const validates = (bytes: Uint8Array<ArrayBuffer>): boolean =>
    typeof WebAssembly === "object" && WebAssembly.validate(bytes);
  const simd = validates(SIMD_PROBE);
  return { simd, relaxed: simd && validates(relaxedProbe()) };
}

/** Has the engine show that it computes right what it said it runs. */
export function examineEngine(said = askEngine()): Engine {
  return said.relaxed ? { ...said, relaxed: isRight(relaxedProbe()) || "wrong" } : said;
}

/** Why memory cannot be shared between threads here; undefined where it can. */
export function whyNotShared(): string | undefined {
  if (typeof SharedArrayBuffer !== "function") {
    return (globalThis as { isSecureContext?: boolean }).isSecureContext === false
      ? "the page is not served securely, so there is no SharedArrayBuffer"
      : "there is no SharedArrayBuffer, which in a page needs cross-origin isolation";
  }
  if ((globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated === false) {
    return "the page is not cross-origin isolated";
  }
  return undefined;
}
