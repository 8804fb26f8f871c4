// The table of table.ts as a component.

import type { ComponentChildren } from "preact";
import { keepReachable } from "../scrollable.js";

/**
 * A table of facts that scrolls by itself where it is wider than its place.
 * @param titles  of the columns
 * @param texts  titles of columns that stand to the left
 * @param children  rows
 */
export const Facts = ({
  titles,
  texts = [],
  children,
}: {
  titles: readonly string[];
  texts?: readonly string[];
  children: ComponentChildren;
}) => (
  <div class="scroll-x" ref={keepReachable}>
    <table class="facts">
      <thead>
        <tr>
          {titles.map((title) => (
            <th scope="col" class={texts.includes(title) ? "is-text" : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
