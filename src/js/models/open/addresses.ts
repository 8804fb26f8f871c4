// Files at addresses: read by ranges, if the server has them; otherwise the whole file is read.

import { stateError } from "../../base/errors.js";
import { bodyOfLength, contentRange } from "./ranges.js";
import { bodyOf, chunksOf, type Limits, request } from "./requests.js";

/** The file at an address. */
export interface AddressedFile {
  /** ETag or Last-Modified, and the size; undefined if the server names none. */
  readonly version: { readonly state: string } | undefined;
  /** The whole file, or how ranges of it are read. */
  readonly content:
    | Blob
    | {
        readonly size: number;
        readonly read: (offset: number, length: number) => Promise<Uint8Array>;
      };
}

/** Bytes of an address that are read when it is opened. */
const HEAD_BYTES = 2 ** 16;

/** Opens an address. @throws {Error} `ZP_LOAD_FAILED` */
export async function openAddress(
  where: string,
  address: string,
  limits: Limits,
): Promise<AddressedFile> {
  const failed = (problem: string): Error =>
    stateError("ZP_LOAD_FAILED", where, `${address} ${problem}`);
  const whole = async (response: Response): Promise<AddressedFile> => {
    if (response.status === 206) {
      throw failed("answers 206, a part of the file, where the whole file was asked for");
    }
    const content = await bodyOf(where, response, limits);
    return { content, version: versionOf(response, content.size) };
  };
  /** The bytes of a range. @throws {Error} `ZP_LOAD_FAILED` if they are cut off, or others come behind them */
  const rangeOf = async (response: Response, length: number): Promise<Uint8Array> => {
    const body = await bodyOfLength(chunksOf(where, address, response.body, limits), length);
    if (body instanceof Uint8Array) return body;
    throw failed(`answers ${body ?? "more"} bytes where it names ${length} in Content-Range`);
  };
  // Ranges of blob: lack their last byte in Node 20, and the bytes are there.
  const isHere = /^(data|blob):/i.test(address);
  const headers: Record<string, string> = isHere ? {} : { Range: `bytes=0-${HEAD_BYTES - 1}` };
  const opened = await request(where, address, headers, limits, async (first) => {
    const range = contentRange(first);
    const size = range?.total;
    if (range === undefined || size === undefined || range.from > 0 || range.length > HEAD_BYTES) {
      // A range of a file of unknown length is not the whole file.
      return first.status === 206 ? undefined : await whole(first);
    }
    const version = nameOf(first);
    const head = await rangeOf(first, range.length);
    // Without If-Range: servers of other origins would have to allow it, and the answer names its version itself.
    const read = async (offset: number, length: number): Promise<Uint8Array> => {
      if (offset + length <= head.length) return head.subarray(offset, offset + length);
      const asked = `bytes=${offset}-${offset + length - 1}`;
      return await request(where, address, { Range: asked }, limits, async (response) => {
        const found = contentRange(response);
        if (response.status !== 206) throw failed(`answers ${response.status} while it is read`);
        if (nameOf(response) !== version || (found?.total ?? size) !== size) {
          throw failed("has changed while it is read");
        }
        if (found?.from !== offset || found.length !== length) {
          const said = response.headers.get("content-range") ?? "no Content-Range";
          throw failed(`answers ${said} where ${asked.replace("=", " ")} were asked for`);
        }
        return await rangeOf(response, length);
      });
    };
    return { content: { size, read }, version: versionOf(first, size) };
  });
  return opened ?? (await request(where, address, {}, limits, whole));
}

/** What a server calls the version of a file. */
const nameOf = ({ headers }: Response): string | null =>
  headers.get("etag") ?? headers.get("last-modified");

function versionOf(response: Response, size: number): { readonly state: string } | undefined {
  const name = nameOf(response);
  return name === null ? undefined : { state: `${size} ${name}` };
}
