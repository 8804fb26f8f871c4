// The tensors that a plan keeps as they are, with the reasons.

import { nounText } from "../../shell/drawing/numbers.js";
import { h, toDom } from "../../shell/drawing/tree.js";

/** Names of a reason that are shown. */
const SHOWN = 50;

export function showKept(parent: HTMLElement, kept: readonly [reason: string, names: string[]][]) {
  const count = kept.reduce((sum, [, names]) => sum + names.length, 0);
  parent.hidden = count === 0;
  const lines = kept.map(([reason, names]) => {
    const more = names.length > SHOWN ? `, and ${names.length - SHOWN} more` : "";
    const text = `${names.slice(0, SHOWN).join(", ")}${more}`;
    return h("div", {}, h("dt", {}, reason), h("dd", {}, text));
  });
  parent.replaceChildren(
    toDom(
      h("summary", {}, `${nounText(count, "tensor")} ${count === 1 ? "is" : "are"} not quantized`),
    ),
    toDom(h("dl", {}, lines)),
  );
}
