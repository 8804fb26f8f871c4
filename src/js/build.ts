// Picks a build of the core, loads it, and makes it prove itself before anything relies on it.

import {
  type BinaryName,
  buildIn,
  checkSource,
  compileBytes,
  compileSource,
  loadFailed,
  type WasmOption,
} from "./binary.js";
import { type Build, buildOf, Core, isShared, nameOf } from "./core.js";
import { askEngine, type Engine, examineEngine, whyNotShared } from "./engine.js";
import { rangeError, stateError, typeError, type ZeropointError } from "./errors.js";
import { instantiate, type Start } from "./instantiate.js";
import { type CoreModule, Memory } from "./memory.js";
import type { WasmModule } from "./platform.js";
import type { ReadText } from "./text.js";
import { startWorkers, type ThreadsModule, type Workers } from "./threads.js";

/** What a chunk gives: the module around the binary, and the binary unless a user brings it. */
export interface Chunk {
  readonly start: Start;
  readonly text?: readonly string[];
}

/** How the chunk of each build is loaded, and what reads their texts where they have some. */
export type Chunks = { readonly [name in BinaryName]: () => Promise<Chunk> } & {
  readonly openReader?: () => ReadText;
};

/** What is asked for, after its checks. */
export interface Request {
  readonly build: "auto" | Build;
  readonly threads: number | undefined;
  readonly wasm: WasmOption | undefined;
}

// ---- Which build

/** Why the engine cannot run a build; undefined if it can. */
function whyNot(engine: Engine, build: Build): string | undefined {
  if (!engine.simd) {
    return "this engine has no WebAssembly with 128-bit SIMD, which every build needs";
  }
  if (build === "baseline" || engine.relaxed === true) return undefined;
  return engine.relaxed === "wrong"
    ? 'this engine computes relaxed SIMD wrongly, which the "relaxed" build needs'
    : 'this engine has no relaxed SIMD, which the "relaxed" build needs';
}

/**
 * The builds to try for a request, best first.
 * @throws {Error} `ZP_UNSUPPORTED_ENGINE` if there is none that the engine runs
 */
export function chooseBuilds(
  where: string,
  request: "auto" | Build,
  engine: Engine = examineEngine(),
): Build[] {
  const wanted: readonly Build[] = request === "auto" ? ["relaxed", "baseline"] : [request];
  const builds = wanted.filter((build) => whyNot(engine, build) === undefined);
  if (builds.length > 0) return builds;
  throw unsupported(where, whyNot(engine, wanted.at(-1) as Build) as string);
}

function unsupported(where: string, why: string): ZeropointError {
  return stateError("ZP_UNSUPPORTED_ENGINE", where, why);
}

// ---- Loading it

/** A chunk and the compiled binary that belongs to it. */
interface Compiled {
  readonly name: BinaryName;
  readonly chunk: Chunk;
  readonly module: WasmModule;
}

type WasmFunction = (file: `${BinaryName}.wasm`) => unknown;

/**
 * Some bundlers call `import()` a microtask later. Its request is then on its way before this thread
 * is kept busy.
 */
const requestSent = (): Promise<void> => Promise.resolve();

/** A build with its own binary, or with that of a user's function. */
async function compileBuild(
  where: string,
  chunks: Chunks,
  name: BinaryName,
  wasm: WasmFunction | undefined,
): Promise<Compiled> {
  let compiled: Compiled;
  try {
    const chunk = chunks[name]();
    // A binary from elsewhere is on its way at the same time, so neither may fail unheard.
    chunk.catch(() => undefined);
    const module = await (wasm === undefined
      ? requestSent().then(() => compileText(chunk, chunks.openReader?.()))
      : compileFrom(where, wasm(`${name}.wasm`), `${name}.wasm`));
    compiled = { name, chunk: await chunk, module };
  } catch (cause) {
    throw notCompiled(where, `the "${buildOf(name)}" build`, cause, wasm);
  }
  if (wasm === undefined) return compiled;
  const given = buildIn(where, compiled.module);
  if (given === name) return compiled;
  throw rangeError(
    "ZP_BUILD_UNAVAILABLE",
    where,
    `options.wasm gave "${given}" for "${name}.wasm"`,
  );
}

/**
 * Asks for a binary at once unless it is promised.
 * @param file  what a user's function gave it for
 */
async function compileFrom(where: string, source: unknown, file?: string): Promise<WasmModule> {
  const isPromise = typeof (source as PromiseLike<unknown> | null)?.then === "function";
  return await compileSource(checkSource(where, isPromise ? await source : source, file));
}

/** What kept a binary from being compiled; of a user's own, that may be instructions that it takes. */
function notCompiled(where: string, what: string, cause: unknown, wasm: unknown): unknown {
  if ((cause as { code?: unknown } | null)?.code === "ZP_INVALID_OPTION") return cause;
  const isRefused = wasm !== undefined && cause instanceof WebAssembly.CompileError;
  const why = isRefused && whyNot(askEngine(), "relaxed");
  return loadFailed(where, what, cause, why ? `; ${why}` : "");
}

async function compileText(chunk: Promise<Chunk>, read: ReadText | undefined): Promise<WasmModule> {
  const { text = [] } = await chunk;
  return await compileBytes(read ? read(text) : new ArrayBuffer(0));
}

/** The build of a binary that a user brought. */
async function compileGiven(where: string, chunks: Chunks, wasm: unknown): Promise<Compiled> {
  let module: WasmModule;
  try {
    module = await compileFrom(where, wasm);
  } catch (cause) {
    throw notCompiled(where, "the binary in options.wasm", cause, wasm);
  }
  const name = buildIn(where, module);
  try {
    return { name, chunk: await chunks[name](), module };
  } catch (cause) {
    throw loadFailed(where, `the "${buildOf(name)}" build`, cause);
  }
}

/** Runs a compiled build, with workers unless there is a reason for none. */
async function startCore(
  where: string,
  compiled: Compiled,
  threads: number,
  reason: string | undefined,
): Promise<Core> {
  const { name, chunk, module } = compiled;
  const build = buildOf(name);
  let core: Core;
  let isCorrect: boolean;
  let trouble: unknown;
  try {
    const { bindings: started, shared } = await instantiate(chunk.start, module);
    const bindings = started as CoreModule;
    const memory = new Memory(bindings);
    let workers: Workers | undefined;
    if (shared !== undefined && threads > 1 && reason === undefined) {
      const withThreads = started as ThreadsModule;
      workers = await startWorkers(withThreads, { module, memory: shared }, threads - 1);
      const { end, staging } = workers;
      memory.staging = staging;
      Object.assign(withThreads, {
        // A worker fell silent: whatever it may yet write must hit nothing.
        workerLost: () => {
          memory.abandon();
          end();
        },
      });
    }
    const binary = { name, module };
    core = new Core(bindings, build, memory, binary, workers, threads, reason);
    isCorrect = computesKnownValues(core);
    if (isCorrect) trouble = troubleWithThreads(core);
  } catch (cause) {
    throw loadFailed(where, `the "${build}" build`, cause);
  }
  if (isCorrect && trouble === undefined) return core;
  core.dispose();
  // Another instance, for nobody knows what was left of this one.
  if (isCorrect) return startCore(where, compiled, threads, `threads do not work here: ${trouble}`);
  throw unsupported(where, `the "${build}" build computes wrong values on this engine`);
}

/**
 * Loads the build that a request gets.
 * @throws {Error} `ZP_UNSUPPORTED_ENGINE` if the engine lacks what the build needs, or has it and
 *   computes wrongly; `ZP_LOAD_FAILED`
 * @throws {RangeError} `ZP_BUILD_UNAVAILABLE` if `wasm` is not the build
 */
export async function loadBuild(where: string, chunks: Chunks, request: Request): Promise<Core> {
  const { wasm, threads = 1 } = request;
  let reason = threads > 1 ? whyNotShared() : undefined;
  if (wasm !== undefined && typeof wasm !== "function") {
    chooseBuilds(where, request.build);
    const compiled = await compileGiven(where, chunks, wasm);
    const build = buildOf(compiled.name);
    if (request.build !== "auto" && request.build !== build) {
      throw rangeError(
        "ZP_BUILD_UNAVAILABLE",
        where,
        `options.build is "${request.build}", and options.wasm is "${build}"`,
      );
    }
    chooseBuilds(where, build);
    if (threads > 1 && !isShared(compiled.name)) {
      reason ??= `options.wasm is "${compiled.name}", which has no threads`;
    }
    return await startCore(where, compiled, threads, reason);
  }

  const compile = (build: Build): Promise<Compiled> => {
    const name = nameOf(build, threads > 1 && reason === undefined);
    return compileBuild(where, chunks, name, wasm as WasmFunction | undefined);
  };
  // What the engine says it runs is on its way while it shows that it computes it right.
  const said = askEngine();
  const [likely] = chooseBuilds(where, request.build, said);
  const first = compile(likely);
  first.catch(() => undefined);
  await requestSent();
  // What no build needs is not examined.
  const engine = likely === "baseline" ? said : examineEngine(said);
  let failure: unknown;
  for (const build of chooseBuilds(where, request.build, engine)) {
    const compiled = await (build === likely ? first : compile(build));
    try {
      return await startCore(where, compiled, threads, reason);
    } catch (error) {
      // One that computes wrongly gives way to the next; anything else would befall that, too.
      if ((error as { code?: unknown }).code !== "ZP_UNSUPPORTED_ENGINE") throw error;
      failure = error;
    }
  }
  throw failure;
}

/** Refuses to load a binary from nowhere. @throws {TypeError} `ZP_INVALID_OPTION` */
export function checkHasWasm(where: string, wasm: unknown): void {
  if (wasm !== undefined) return;
  throw typeError(
    "ZP_INVALID_OPTION",
    where,
    "options.wasm is needed, for zeropoint/slim brings no binary of its own",
  );
}

const PARTS = 256;
const STEPS = 100;

/** What happens when all threads together compute what one computes; undefined if it is right. */
function troubleWithThreads({ memory, module, threads }: Core): unknown {
  if (threads === 1) return undefined;
  const [out] = memory.layOut("init", 4 * PARTS);
  try {
    (module as ThreadsModule).proveWorkers(out, PARTS, STEPS);
  } catch (trap) {
    return trap;
  }
  const states = new Uint32Array(PARTS);
  memory.read(out, states);
  memory.end();
  const isRight = states.every((state, part) => {
    let expected = part;
    for (let step = 0; step < STEPS; step++) {
      expected = (Math.imul(expected, 1664525) + 1013904223) >>> 0;
    }
    return state === expected;
  });
  return isRight ? undefined : "they compute wrong values";
}

/** Four vectors and one value over: ties, signs, both ends of the range, NaN and infinities. */
const KNOWN_VALUES = [
  0,
  -0,
  0.25,
  0.75,
  -0.25,
  -0.75,
  1.25,
  -1.75,
  63.25,
  63.5,
  1e30,
  -64,
  -64.5,
  -1e30,
  Infinity,
  -Infinity,
  NaN,
];
/** Of scale 0.5 and zero point 1: worked by hand. */
const KNOWN_CODES = [1, 1, 2, 2, 0, 0, 4, -2, 127, 127, 127, -127, -128, -128, 127, -128, 1];

/**
 * Whether a core quantizes as was worked out without it. The products of linear layers need no proof
 * here: examineEngine() has had the one instruction computed that engines are known to get wrong.
 */
export function computesKnownValues({ memory, module }: Core): boolean {
  const n = KNOWN_VALUES.length;
  const [x, scale, zeroPoint, shape, codes] = memory.layOut("init", 4 * n, 4, 4, 4, n);
  memory.write("Float32Array", x, KNOWN_VALUES);
  memory.writeOne("Float32Array", scale, 0.5);
  memory.writeOne("Int32Array", zeroPoint, 1);
  memory.writeOne("Uint32Array", shape, n);
  const status = module.quantize(x, shape, 1, scale, zeroPoint, shape, 0, "int8", codes);
  const got = new Int8Array(n);
  memory.read(codes, got);
  memory.end();
  return status === "kOk" && KNOWN_CODES.every((code, i) => code === got[i]);
}
