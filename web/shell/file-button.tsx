// A button that opens files, which can be dropped beside it as well.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { connectDrop } from "./drop.js";

interface Props {
  title: string;
  /** Where files can be dropped: an element that the button is in, by its selector, or the document. */
  area: string | Document;
  isPrimary?: boolean;
  /** Several files at once; default: true. */
  multiple?: boolean;
  accept?: string;
  onFiles: (files: File[]) => void;
  drop?: Parameters<typeof connectDrop>[3];
  /** Gets the file input. */
  input?: RefObject<HTMLInputElement | null>;
}

export function FileButton({ title, area, isPrimary, accept, onFiles, drop, ...rest }: Props) {
  const { multiple = true } = rest;
  const own = useRef<HTMLInputElement>(null);
  const input = rest.input ?? own;
  useLayoutEffect(() => {
    const place = typeof area === "string" ? input.current?.closest<HTMLElement>(area) : area;
    if (place && input.current) connectDrop(place, input.current, onFiles, drop);
  }, []);
  return (
    <label class={isPrimary ? "button primary" : "button"}>
      {title}
      <input ref={input} type="file" class="visually-hidden" multiple={multiple} accept={accept} />
    </label>
  );
}
