// Stands in for node:vm: another realm is another frame. Its page alone may evaluate text.

/** @type {HTMLIFrameElement[]} */
const frames = [];

/** Frames load late and contexts are made at once: one is kept ready. */
async function makeReady() {
  const frame = document.createElement("iframe");
  frame.src = "/realm";
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
  document.body.append(frame);
  await loaded;
  frames.push(frame);
}
await makeReady();

export function createContext() {
  const frame = frames.pop();
  if (!frame) throw new Error("the browser's node:vm has one context a page");
  return frame;
}

/**
 * @param {string} code
 * @param {HTMLIFrameElement} frame
 */
export function runInContext(code, frame) {
  return /** @type {any} */ (frame.contentWindow).eval(code);
}

export function runInNewContext(code) {
  return runInContext(code, createContext());
}
