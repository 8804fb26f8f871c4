// `zeropoint/models` as a connection runs it: a chunk and a worker script of its own.

import * as models from "../../models/index.js";
import { Model } from "../../models/open/model.js";
import { Opener } from "./pull.js";

/** Functions whose work is done by the caller's own engine, or on streams that the caller has. */
const OWN = ["recordOnnxInputs", "verifyOutput"];

/** The names that a connection offers. */
export const names: readonly string[] = Object.keys(models).filter((name) => !OWN.includes(name));

type Options<Name extends "plan" | "frontier"> = Parameters<(typeof models)[Name]>[1];

/** Rows that come part by part, together. */
async function gathered(given: unknown): Promise<models.PlanRow[]> {
  if (Symbol.asyncIterator in Object(given)) {
    const all: models.PlanRow[] = [];
    for await (const part of given as AsyncIterable<models.PlanRow[]>) all.push(...part);
    return all;
  }
  const { rows } = Object(given) as { rows?: unknown };
  const isOfFile = Symbol.asyncIterator in Object(rows);
  return (isOfFile ? { ...(given as object), rows: await gathered(rows) } : given) as never;
}

const plan = async (rows: unknown, options: Options<"plan">) =>
  models.plan(await gathered(rows), options);

const frontier = async (rows: unknown, options: Options<"frontier">) =>
  models.frontier(await gathered(rows), options);

const storedRows = async (
  model: models.Model,
  rows: unknown,
  options: models.StoredRowsOptions | undefined,
) => models.storedRows(model, await gathered(rows), options);

/** `quantizeModel`, with files that stay here. */
const quantizeModel = async (...args: Parameters<typeof models.quantizeModel>) => {
  const { files, report } = await models.quantizeModel(...args);
  const held = files.map((file) => {
    const source = new Opener((begin) => file.stream(begin as number | undefined));
    return { name: file.name, size: file.size, source };
  });
  return { files: held, report };
};

/** The functions, and the classes of objects that stay here. */
export const exports = { ...models, plan, frontier, storedRows, quantizeModel, Model };
