// A button that opens files, which can be dropped beside it as well.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { connectDrop } from "./drop.js";

/**
 * @param title  of the button
 * @param area  where files can be dropped: elements that the button is in, by their selector, or the document
 * @param drop  options of connectDrop
 * @param input  gets the file input
 */
export function FileButton({
  title,
  area,
  isPrimary = false,
  accept,
  onFiles,
  drop,
  input: given,
}: {
  title: string;
  area: string | Document;
  isPrimary?: boolean;
  accept?: string;
  onFiles: (files: File[]) => void;
  drop?: Parameters<typeof connectDrop>[3];
  input?: RefObject<HTMLInputElement | null>;
}) {
  const own = useRef<HTMLInputElement>(null);
  const input = given ?? own;
  useLayoutEffect(() => {
    const place = typeof area === "string" ? input.current?.closest<HTMLElement>(area) : area;
    if (place && input.current) connectDrop(place, input.current, onFiles, drop);
  }, []);
  return (
    <label class={isPrimary ? "button primary" : "button"}>
      {title}
      <input ref={input} type="file" class="visually-hidden" multiple accept={accept} />
    </label>
  );
}
