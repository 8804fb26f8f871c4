// Serves the built page, and the package with its tests, to the browser under test.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { builtinModules } from "node:module";
import { extname, join, normalize, sep } from "node:path";
import { parse } from "acorn";
import { root } from "../../scripts/process/run.mjs";
import { answerBinary } from "../js/support/binaries.mjs";

const site = join(root, "dist", "web");
export const SUB_PATH = "/some/where/zeropoint/";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

/**
 * A document of any server here without scripts and policy. It names an icon: Chromium asks for /favicon.ico else, and
 * reports that it is not found at any later moment, as an error of the page that is open then.
 */
export const EMPTY_PATH = "/empty";
const EMPTY = { type: TYPES[".html"], body: '<!doctype html><link rel="icon" href="data:,">' };

/**
 * Serves on a free port.
 * @param {(path: string, request: import("node:http").IncomingMessage) =>
 *   Promise<{ type: string, body: string | Uint8Array | AsyncIterable<string>, status?: number,
 *     headers?: Record<string, string> } | undefined>} answer
 * @param {string} start  the path of the first page
 */
async function serve(answer, start) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    try {
      const isEmpty = pathname === EMPTY_PATH;
      const found = isEmpty ? EMPTY : await answer(decodeURIComponent(pathname), request);
      if (found) {
        const headers = { "content-type": found.type, ...found.headers };
        response.writeHead(found.status ?? 200, headers);
        if (Symbol.asyncIterator in Object(found.body)) {
          for await (const piece of found.body) response.write(piece);
          response.end();
        } else response.end(found.body);
      } else response.writeHead(404, { "content-type": "text/plain" }).end("not found");
    } catch (error) {
      response.writeHead(500, { "content-type": "text/plain" }).end(String(error));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A test that fails before it closes the server must not keep the process alive.
  server.unref();
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    url: origin + start,
    origin,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A file below a folder, or undefined. */
function fileIn(folder, name) {
  const path = join(folder, normalize(name));
  const isThere = path.startsWith(folder + sep) && existsSync(path) && statSync(path).isFile();
  if (!isThere) return undefined;
  return { path, type: TYPES[extname(path)] ?? "application/octet-stream" };
}

/**
 * Serves only dist/web/, below SUB_PATH.
 * @param {{ headers?: Record<string, string>, lenient?: RegExp, missing?: RegExp,
 *   pause?: (path: string) => Promise<void> | undefined,
 *   edit?: (name: string, body: Buffer) => string | Buffer | AsyncIterable<string> }} options
 *   headers: sent with the page and all its files, except files whose names match `lenient`; files whose names
 *   match `missing` are not found; an answer waits for `pause`, and `edit` replaces its body
 */
export async function serveSite({ headers = {}, lenient, missing, pause, edit } = {}) {
  if (!existsSync(join(site, "index.html"))) {
    throw new Error("the page is not built: run npm run build");
  }
  return serve(async (path) => {
    await pause?.(path);
    const name = path.endsWith("/") ? `${path}index.html` : path;
    if (!name.startsWith(SUB_PATH) || missing?.test(name)) return undefined;
    const file = fileIn(site, name.slice(SUB_PATH.length));
    if (!file) return undefined;
    const sent = lenient?.test(name) ? {} : headers;
    const body = readFileSync(file.path);
    return { type: file.type, body: edit?.(name, body) ?? body, headers: sent };
  }, SUB_PATH);
}

/** Replacements for parts of Node modules. */
const PARTLY = {
  fs: "node-fs.js",
  "fs/promises": "node-fs-promises.js",
};

/** Replacements for Node modules; the others are empty, see node-only.js. */
const STAND_INS = {
  "node:test": "/tests/web/in-browser/node-test.js",
  "node:assert": "/tests/web/in-browser/node-assert.js",
  "node:assert/strict": "/tests/web/in-browser/node-assert.js",
  "node:vm": "/tests/web/in-browser/node-vm.js",
};

/** The browser's file of an entry of `exports`, or undefined. */
function forBrowsers(entry) {
  if (typeof entry === "string" || entry === undefined) return entry;
  for (const [condition, inner] of Object.entries(entry)) {
    if (!["browser", "import", "default"].includes(condition)) continue;
    const file = forBrowsers(inner);
    if (file) return file;
  }
  return undefined;
}

/** Resolves a bare specifier as a bundler for browsers does. */
function resolve(specifier) {
  if (specifier in STAND_INS) return STAND_INS[specifier];
  const builtin = specifier.replace(/^node:/, "");
  if (builtinModules.includes(builtin)) return `/node/${builtin}`;
  const [, name, rest = ""] = /^(@[^/]+\/[^/]+|[^/]+)(\/.*)?$/.exec(specifier);
  const isOwn = name === "zeropoint";
  const folder = isOwn ? "" : `/node_modules/${name}`;
  const { exports, module, main } = JSON.parse(
    readFileSync(join(root, folder, "package.json"), "utf8"),
  );
  const hasPaths = typeof exports === "object" && Object.keys(exports)[0].startsWith(".");
  const own = hasPaths ? exports : { ".": exports };
  let file = forBrowsers(own[`.${rest}`]);
  for (const [pattern, entry] of Object.entries(own)) {
    const [start, end] = pattern.split("*");
    const path = `.${rest}`;
    if (file || end === undefined || !path.startsWith(start) || !path.endsWith(end)) continue;
    file = forBrowsers(entry)?.replaceAll("*", path.slice(start.length, path.length - end.length));
  }
  if (!exports) file = rest ? `.${rest}` : `./${module ?? main}`;
  if (!file) throw new Error(`${name} has no ${rest || "main"} for browsers`);
  return `${folder}/${file.replace(/^\.\//, "")}`;
}

/** The literal specifiers in a module, with their positions. */
function* specifiers(node) {
  if (Array.isArray(node)) for (const item of node) yield* specifiers(item);
  if (typeof node?.type !== "string") return;
  const isImport = /^(Import(Declaration|Expression)|Export(All|Named)Declaration)$/.test(
    node.type,
  );
  if (isImport && typeof node.source?.value === "string") yield node.source;
  for (const child of Object.values(node)) if (typeof child === "object") yield* specifiers(child);
}

/** Replaces a module's bare specifiers by addresses, without moving any other code. */
function withAddresses(source) {
  const tree = parse(source, { ecmaVersion: "latest", sourceType: "module", allowHashBang: true });
  const bare = [...specifiers(tree)].filter(({ value }) => !/^(\.{0,2}\/|https?:)/.test(value));
  let text = source;
  for (const { start, end, value } of bare.sort((a, b) => b.start - a.start)) {
    text = text.slice(0, start) + JSON.stringify(resolve(value)) + text.slice(end);
  }
  return text;
}

/** The browser's replacement for a Node module. */
async function emptyModule(name) {
  const standIn = PARTLY[name] && `./in-browser/${PARTLY[name]}`;
  const there = ["default", ...(standIn ? Object.keys(await import(standIn)) : [])];
  const names = Object.keys(await import(`node:${name}`)).filter((key) => !there.includes(key));
  return [
    'import { nodeOnly } from "/tests/web/in-browser/node-only.js";',
    `export default nodeOnly("node:${name}");`,
    ...(standIn ? [`export * from "/tests/web/in-browser/${PARTLY[name]}";`] : []),
    ...names.map((key) => `export const ${key} = nodeOnly("node:${name} ${key}");`),
  ].join("\n");
}

const page = (script) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>zeropoint</title>` +
  `<link rel="icon" href="/web/public/icon.svg">` +
  `<body><script type="module" src="${script}"></script></body></html>`;

/** The strictest policy that the package and the page support. */
export const STRICT_POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'; " +
  "trusted-types zeropoint";

/** Makes browsers report violations of the policy to the server, from workers too. */
export const REPORTING = "; report-uri /violation";

/** Headers for cross-origin isolation: the page may share memory with its workers. */
export const ISOLATED = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** Lets the browser use a file again without a request. */
const KEPT = { "cache-control": "max-age=3600, immutable" };

/**
 * Serves the repository: the built package unchanged, and its tests with the imports of Node modules replaced. /run
 * is a page that runs a file of tests; /page runs the script in `?script=`; /realm is a page for frames, and the
 * only one that may evaluate text; /binaries is the server of tests/js/support/binaries.mjs; /list lists the files
 * in a folder.
 *
 * @param {{ policy?: string, isolated?: boolean, isKept?: boolean, missing?: RegExp,
 *   files?: Record<string, string | Uint8Array> }} options
 *   policy: the content security policy of everything; isolated: whether pages may share memory; isKept: whether
 *   the browser may keep files, which loads the package for a page in a third of the time; files whose names match `missing` are not found; `files`: more files by their paths, texts as modules
 * @returns with `reports`: violations that browsers reported, and `nextReport()`, which waits for one
 */
export async function servePackage({
  policy,
  isolated = true,
  isKept = false,
  missing,
  files = {},
} = {}) {
  const reports = [];
  const waiting = [];
  const headers = {
    ...(policy && { "content-security-policy": policy }),
    ...(isolated && ISOLATED),
  };
  const modules = new Map();
  const module = (path, make) => {
    if (!modules.has(path)) modules.set(path, make());
    return modules.get(path);
  };

  const server = await serve(async (path, request) => {
    if (path === "/violation") {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const report = Buffer.concat(chunks).toString();
      reports.push(report);
      for (const resolve of waiting.splice(0)) resolve(report);
      return { type: "text/plain", body: "" };
    }
    if (path === "/realm") return { type: TYPES[".html"], body: page("data:,"), headers: ISOLATED };
    if (path === "/run") {
      return { type: TYPES[".html"], body: page("/tests/web/in-browser/run.js"), headers };
    }
    if (path === "/page") {
      const script = new URL(request.url, "http://localhost").searchParams.get("script");
      return { type: TYPES[".html"], body: page(script), headers };
    }
    if (path.startsWith("/binaries/")) {
      const found = await answerBinary(path.slice("/binaries/".length));
      return { ...found, headers };
    }
    if (path.startsWith("/list/")) {
      const body = JSON.stringify(readdirSync(join(root, path.slice(5)), { recursive: true }));
      return { type: TYPES[".json"], body, headers };
    }
    if (path.startsWith("/node/")) {
      const body = await module(path, () => emptyModule(path.slice("/node/".length)));
      return { type: TYPES[".mjs"], body, headers };
    }
    if (Object.hasOwn(files, path)) {
      const isModule = typeof files[path] === "string";
      const body = isModule ? withAddresses(files[path]) : files[path];
      return { type: isModule ? TYPES[".mjs"] : "application/octet-stream", body, headers };
    }
    const file = missing?.test(path) ? undefined : fileIn(root, path);
    if (!file) return undefined;
    const isTest = /^\/(tests|scripts|node_modules)\/.*\.m?js$/.test(path);
    const read = () => readFileSync(file.path);
    const body = isTest ? module(path, () => withAddresses(String(read()))) : read();
    return { type: file.type, body, headers: { ...headers, ...(isKept && KEPT) } };
  }, "/run");
  const nextReport = () => new Promise((resolve) => waiting.push(resolve));
  return { ...server, reports, nextReport };
}
