// Tables that are made when they are opened.

import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { pageOf, type TableData } from "../../notebook/plots/paged-table.js";
import { closest } from "../../shell/dom.js";
import { Drawn } from "../../shell/drawing/drawn.js";
import { makeScrollable } from "../../shell/scrollable.js";

/** @param children  makes the table */
export function ClosedTable({
  name,
  children,
}: {
  name: string;
  children: () => ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (box.current) makeScrollable(box.current);
  });
  return (
    <details class="panel-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        Table<span class="visually-hidden"> of {name}</span>
      </summary>
      {isOpen && <div ref={box}>{children()}</div>}
    </details>
  );
}

/** A table of any size, of which one page at a time is in the document. */
export function PagedTable({ data }: { data: TableData }) {
  const [[row, column], setPage] = useState([0, 0]);
  const pressed = useRef<HTMLElement>(null);
  const turn = (event: TargetedMouseEvent<HTMLElement>) => {
    pressed.current = closest(event, "button");
    const { axis, to } = pressed.current?.dataset ?? {};
    if (axis) setPage(axis === "Rows" ? [Number(to), column] : [row, Number(to)]);
  };
  // At an end, the focus goes to the button of the other direction.
  useLayoutEffect(() => {
    const button = pressed.current;
    if (button?.matches(":disabled")) {
      button.parentElement?.querySelector<HTMLElement>("button:not(:disabled)")?.focus();
    }
  }, [row, column]);
  return (
    <div onClick={turn}>
      <Drawn trees={pageOf(data, row < data.rows ? row : 0, column)} />
    </div>
  );
}
