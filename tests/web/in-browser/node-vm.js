// Replaces node:vm: a context is the realm of a frame. Only the frame's page may evaluate text.

/** @type {HTMLIFrameElement[]} */
const frames = [];

/** Keeps one frame ready: frames load asynchronously, but contexts are created synchronously. */
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
