// Names of files that go with another one, such as done-files and unfinished ones.

import { createHash } from "node:crypto";

/** The longest part of a name that is kept: systems take names of 255 bytes, and endings are added to it. */
const MAX_BYTES = 120;

/** A name to which an ending can be added: the name itself, or for a long one its hash. */
export const stemOf = (name: string): string =>
  Buffer.byteLength(name) <= MAX_BYTES
    ? name
    : createHash("sha256").update(name).digest("hex").slice(0, 32);
