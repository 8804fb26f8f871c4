// The buttons of a notebook, and its keys.

import { icon } from "../shell/drawing/icons.js";
import { h, type Nested } from "../shell/drawing/tree.js";

/** @param python  address of its Python side */
export function toolbarTree(label: string, cells: number, python?: string) {
  const action = (name: string, iconName: string, text: Nested, disabled = false) =>
    h(
      "button",
      { type: "button", class: "button", "data-action": name, disabled },
      icon(iconName),
      h("span", {}, text),
    );
  return h(
    "div",
    { class: "toolbar", role: "group", "aria-label": label, hidden: true },
    action("run-all", "play-all", "Run all"),
    h(
      "button",
      { type: "button", class: "button", "data-action": "run-stale", hidden: true },
      icon("play-all"),
      h("span", {}, "Run stale"),
    ),
    action("stop", "stop", "Stop", true),
    action("restart", "restart", "Restart"),
    action("reset", "reset", ["Reset", h("span", { class: "more" }, " notebook")]),
    h("span", { class: "toolbar-status" }, `${cells} cells`),
    h(
      "details",
      { class: "keys" },
      h("summary", {}, "More"),
      h(
        "p",
        { class: "downloads" },
        action("download-mjs", "download", "Download as .mjs"),
        action("download-ipynb", "download", "Download as .ipynb"),
        python &&
          h(
            "a",
            { class: "button", href: python, download: "" },
            icon("download"),
            h("span", {}, "Download PyTorch as .ipynb"),
          ),
      ),
      h(
        "dl",
        {},
        [
          [["j"], "go to the next cell, outside of editors"],
          [["k"], "go to the cell before"],
          [["Enter"], "edit the cell"],
          [["Shift", "Enter"], "run the cell and go to the next"],
          [["Ctrl", "Enter"], "run the cell and stay (also Cmd+Enter)"],
          [["Tab"], "indent the code after a click or a change"],
          [["Esc"], "then Tab: leave the editor"],
        ].map(([keys, text]) =>
          h(
            "div",
            {},
            h(
              "dt",
              {},
              (keys as string[]).flatMap((key, i) => [i > 0 && "+", h("kbd", {}, key)]),
            ),
            h("dd", {}, text as string),
          ),
        ),
      ),
      h(
        "p",
        {},
        "A cell shows the value of its last expression; expressions with commas between them show as a " +
          "tuple. print and console.log write below the cell. Names can be declared again, and all cells " +
          "share them. Restart ends the worker that runs the cells and keeps your changes; Reset brings the " +
          "original code back. The .mjs file runs in Node, Deno and Bun; the .ipynb file in Jupyter with the " +
          "kernel of Deno.",
        python && " That of PyTorch has the original code and the outputs that PyTorch printed.",
      ),
    ),
  );
}
