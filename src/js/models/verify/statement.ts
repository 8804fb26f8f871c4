// An in-toto statement about a verification: which file was derived from which, by what, with which result.
// Source: in-toto Attestation Framework, Statement v1 and ResourceDescriptor.

import { rangeError, typeError } from "../../base/errors.js";
import { show } from "../../base/format-value.js";
import { isPlainObject } from "../../base/options.js";
import { VERSION } from "../../base/version.js";
import { readChunks, type Source } from "../../formats/source.js";
import { sha256 } from "../analyze/sha256.js";
import { documentOf, type Model } from "../open/model.js";
import { type Difference, restDifference } from "./difference.js";

const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE = "https://www.npmjs.com/package/zeropoint/derivation/v1";

/** A file by its name and hash. */
export interface ResourceDescriptor {
  /** The file's name, relative to the model's main file. */
  readonly name: string;
  /** Its hash in hexadecimal. */
  readonly digest: { readonly sha256: string };
}

/** A statement of in-toto, version 1: plain data for JSON. */
export interface DerivationStatement {
  /** The version of in-toto's form. */
  readonly _type: "https://in-toto.io/Statement/v1";
  /** The files that were verified. */
  readonly subject: readonly ResourceDescriptor[];
  /** The form of the predicate. */
  readonly predicateType: "https://www.npmjs.com/package/zeropoint/derivation/v1";
  /** How the subject was derived, and whether it came out. */
  readonly predicate: {
    /** The program that derived the tensors. */
    readonly tool: { readonly name: string; readonly version: string };
    /** The source's files; also the importance matrix, if there is one. */
    readonly materials: readonly ResourceDescriptor[];
    /** How the tensors were derived. */
    readonly derivation: {
      readonly format: string;
      readonly target: string | null;
      readonly activations: string;
      readonly requantize: boolean;
      /** How many tensors have each scheme or type; "keep" are the source's own. */
      readonly schemes: Readonly<Record<string, number>>;
    };
    /** The result: "equal", "ties" or "different". */
    readonly result: {
      readonly verdict: "equal" | "ties" | "different";
      readonly tensors: number;
      readonly equal: number;
      readonly ties: number;
      readonly different: number;
    };
  };
}

/** All files of a model that were opened, with their hashes. */
export async function filesOf(
  where: string,
  argument: string,
  model: Model,
  advance: (bytes: number, name: string) => void,
): Promise<ResourceDescriptor[]> {
  const { opened, fileName = "model" } = documentOf(where, argument, model);
  const files: ResourceDescriptor[] = [];
  for (const { path, source } of opened.list()) {
    const name = path ?? fileName;
    files.push({ name, digest: { sha256: await hashOf(where, source, name, advance) } });
  }
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function hashOf(
  where: string,
  source: Source,
  name: string,
  advance: (bytes: number, name: string) => void,
): Promise<string> {
  const hash = sha256();
  for await (const chunk of readChunks(where, source, 0, source.size)) {
    hash.update(chunk);
    advance(chunk.length, name);
  }
  return hash.digest();
}

/** The statement of a verification. */
export const statementOf = (
  subject: readonly ResourceDescriptor[],
  materials: readonly ResourceDescriptor[],
  derivation: DerivationStatement["predicate"]["derivation"],
  result: DerivationStatement["predicate"]["result"],
): DerivationStatement => ({
  _type: STATEMENT_TYPE,
  subject,
  predicateType: PREDICATE_TYPE,
  predicate: { tool: { name: "zeropoint", version: VERSION }, materials, derivation, result },
});

/** The most files that a statement may name. */
const MOST_FILES = 2 ** 16;

/** What is checked of a statement of another run. */
export interface CheckedStatement {
  readonly subject: ReadonlyMap<string, string>;
  readonly materials: ReadonlyMap<string, string>;
  readonly verdict: string;
}

/**
 * Reads a statement of another run.
 * @throws {TypeError | RangeError} `ZP_INVALID_OPTION`
 */
export function readStatement(where: string, argument: string, given: unknown): CheckedStatement {
  const refuse = (path: string, wanted: string, got: unknown): Error =>
    rangeError(
      "ZP_INVALID_OPTION",
      where,
      `${argument}${path} must be ${wanted}, got ${show(got)}`,
    );
  const objectAt = (path: string, value: unknown): Record<string, unknown> => {
    if (isPlainObject(value)) return { ...value };
    throw refuse(path, "an object", value);
  };
  if (!isPlainObject(given)) {
    const problem = `${argument} must be a statement of in-toto, got ${show(given)}`;
    throw typeError("ZP_INVALID_OPTION", where, problem);
  }
  const filesAt = (path: string, value: unknown): Map<string, string> => {
    if (!Array.isArray(value) || value.length === 0 || value.length > MOST_FILES) {
      throw refuse(path, `an array of 1 to ${MOST_FILES} files`, value);
    }
    const files = new Map<string, string>();
    for (const [i, each] of value.entries()) {
      const { name, digest } = objectAt(`${path}[${i}]`, each);
      const { sha256: hash } = objectAt(`${path}[${i}].digest`, digest);
      if (typeof name !== "string") throw refuse(`${path}[${i}].name`, "a text", name);
      if (typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash)) {
        throw refuse(`${path}[${i}].digest.sha256`, "64 hexadecimal digits", hash);
      }
      if (files.has(name)) throw refuse(`${path}[${i}].name`, "given once", name);
      files.set(name, hash);
    }
    return files;
  };
  const { _type, subject, predicateType, predicate } = { ...given };
  if (_type !== STATEMENT_TYPE) throw refuse("._type", show(STATEMENT_TYPE), _type);
  if (predicateType !== PREDICATE_TYPE) {
    throw refuse(".predicateType", show(PREDICATE_TYPE), predicateType);
  }
  const { materials, result } = objectAt(".predicate", predicate);
  const { verdict } = objectAt(".predicate.result", result);
  if (typeof verdict !== "string" || !["equal", "ties", "different"].includes(verdict)) {
    throw refuse(".predicate.result.verdict", "equal, ties or different", verdict);
  }
  return {
    subject: filesAt(".subject", subject),
    materials: filesAt(".predicate.materials", materials),
    verdict,
  };
}

/** Compares a statement of another run with this one. Files are known by their hashes: their names may be others. */
export function differencesOfStatement(
  earlier: CheckedStatement,
  { subject, predicate: { materials, result } }: DerivationStatement,
): Difference[] {
  const differences = (
    part: string,
    known: ReadonlyMap<string, string>,
    files: readonly ResourceDescriptor[],
  ): Difference[] => {
    const here = new Set(files.map(({ digest }) => digest.sha256));
    const there = new Set(known.values());
    const text = (name: string, hash: string): string => `sha256 ${hash} (${name})`;
    return [
      ...[...known]
        .filter(([, hash]) => !here.has(hash))
        .map(([name, hash]) =>
          restDifference(`statement ${part}`, text(name, hash), "no file of this hash"),
        ),
      ...files
        .filter(({ digest }) => !there.has(digest.sha256))
        .map(({ name, digest }) =>
          restDifference(`statement ${part}`, "no file of this hash", text(name, digest.sha256)),
        ),
    ];
  };
  const verdicts =
    earlier.verdict === result.verdict
      ? []
      : [restDifference("statement result", earlier.verdict, result.verdict)];
  return [
    ...differences("subject", earlier.subject, subject),
    ...differences("material", earlier.materials, materials),
    ...verdicts,
  ];
}
