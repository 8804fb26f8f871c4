// `zeropoint/models` as a connection runs it: a chunk and a worker script of its own.

import * as models from "../../models/index.js";
import { Model } from "../../models/open/model.js";
import { Opener } from "./pull.js";

/** Functions whose work is done by the caller's own engine, or on streams that the caller has. */
const OWN = ["recordOnnxInputs", "verifyOutput"];

/** The names that a connection offers. */
export const names: readonly string[] = Object.keys(models).filter((name) => !OWN.includes(name));

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
export const exports = { ...models, quantizeModel, Model };
