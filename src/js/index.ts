// The public exports, nothing else.

export * from "./everything.js";
export { create, init } from "./start.js";
