// One build with its binary: what a bundler puts in one chunk.

export { default as start } from "../core/relaxed.js";
export { default as text } from "../core/relaxed.text.js";
