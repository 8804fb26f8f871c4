// The names that a model's file has for its other files: shards, splits, external data. They are hostile input: the file's author chose them.

import { fileError } from "./source.js";

/**
 * The normal form of a path that stays in its folder, wherever it is read: by a file system, or in an address, whose
 * readers drop blanks around it and tabs in it, take `\` for `/` and decode `%2e%2e`. Parts are joined by `/`; empty
 * parts and `.` are left out, so each file has one form.
 * @throws {RangeError} `ZP_INVALID_FILE`
 */
export function checkRelativePath(where: string, offset: number, path: string): string {
  const parts = path.split(/[/\\]/);
  const kept = parts.filter((part) => part !== "" && part !== ".");
  const normal = kept.join("/");
  const isInside =
    path.trim() === path &&
    normal.trim() === normal &&
    !UNSAFE.test(path) &&
    parts[0] !== "" &&
    kept.length > 0 &&
    !SCHEME.test(kept[0]) &&
    !kept.some(leaves);
  if (!isInside) throw fileError(where, offset, "a relative path without ..", JSON.stringify(path));
  return normal;
}

/** Controls, also Unicode's for lines and directions, which hide a path's end, and halves of pairs, which no UTF-8 has. */
const UNSAFE = /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069\ufeff]/u;

/** A scheme, or a drive. */
const SCHEME = /^[a-z][\w+.-]*:/i;

/**
 * Whether a part of a path leads elsewhere: dots, also with the blanks that Windows drops, written out or percent-encoded
 * once or more; an encoded `/`, `\` or control.
 */
function leaves(part: string): boolean {
  let text = part;
  for (;;) {
    if (/^[. ]*$/.test(text)) return true;
    // Only what is unsafe is decoded: other codes may be part of a name.
    const decoded = text.replace(/%(25|2e|20)/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    if (/%(2f|5c|[01][\da-f]|7f)/i.test(decoded)) return true;
    if (decoded === text) return false;
    text = decoded;
  }
}

/**
 * The address of a file in the folder of another one.
 * @param address  of the other file, absolute, or relative to a page
 * @param path  as `checkRelativePath` gives it
 * @returns undefined if the address has no folder, as those of `data:` and `blob:`
 */
export function addressBeside(address: string, path: string): string | undefined {
  if (/^\s*(data|blob):/i.test(address)) return undefined;
  const [plain] = address.split(/[?#]/, 1);
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  if (!URL.canParse(address)) return plain.replace(/[^/\\]*$/, "") + encoded;
  const folder = new URL(".", plain).href;
  const { href } = new URL(encoded, folder);
  return href.startsWith(folder) && href.length > folder.length ? href : undefined;
}

/** The name of the file at an address or path, without its folder; decoded if that is still the name of one file. */
export function fileNameOf(name: string, isAddress: boolean): string | undefined {
  const [plain] = name.split(/[?#]/, 1);
  const last = plain.split(/[/\\]/).at(-1) as string;
  if (last === "") return undefined;
  if (!isAddress) return last;
  try {
    const decoded = decodeURIComponent(last);
    return checkRelativePath("", 0, decoded) === decoded && !decoded.includes("/") ? decoded : last;
  } catch {
    return last;
  }
}
