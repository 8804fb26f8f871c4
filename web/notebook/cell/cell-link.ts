// A cell's code as a link. The page shows the code of a link beside the reader's own; nothing runs by itself.

import { deflatedText, inflatedBytes } from "../../shell/deflated.js";

const LARGEST = 100_000; // bytes of code that a link may hold

/** @param id  of the cell */
export async function linkTo(id: string, source: string) {
  const url = new URL(location.href);
  url.hash = `${id}?code=${await deflatedText(new TextEncoder().encode(source))}`;
  return url.href;
}

/** The code that an address has for a cell; undefined if it names none, null if it is damaged. */
export async function codeIn(
  hash: string,
): Promise<{ id: string; source: string | null } | undefined> {
  const [id, query = ""] = hash.slice(1).split("?");
  const text = new URLSearchParams(query).get("code");
  if (text === null) return undefined;
  try {
    const bytes = await inflatedBytes(text, LARGEST);
    return { id, source: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { id, source: null };
  }
}

/** Takes the code out of the address, so that a reload does not offer it again. */
export function leaveOutCode() {
  history.replaceState(history.state, "", location.href.replace(/\?code=[^&]*$/, ""));
}
