// One build with its binary: what a bundler puts in one chunk.

export { default as start } from "../core/baseline-threads.js";
export { default as text } from "../core/baseline-threads.text.js";
