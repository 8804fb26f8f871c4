// The page's own modules in Node, which tests and scripts import from here.

import { register } from "node:module";

register("./typescript-hooks.mjs", import.meta.url);

const folder = new URL("../../web/", import.meta.url);

/** @param {string} path  of a module in web/, as other modules import it: "shell/theme.js" */
export const fromPage = (path) => import(new URL(path, folder).href);
