// What goes to the console is seen in the page as well, where most readers look.

import { printed } from "zeropoint/notebook";

/**
 * @typedef {(...values: any[]) => void} Tell
 */

// A browser hands every message to the page, whose thread an endless loop would keep from all else, Stop
// included.
const TELL_LIMIT = 1000;

/**
 * Has a console print, beside what it does.
 * @param {any} console
 * @param {Tell} print
 * @returns {() => void} begins anew to count the messages that are left to the console
 */
export function connectConsole(console, print) {
  let room = TELL_LIMIT;
  const sayRest = console.warn.bind(console);
  /** @type {Map<string, number>} */
  const timers = new Map();
  /** @type {Map<string, number>} */
  const counts = new Map();
  /**
   * @param {string[]} methods
   * @param {Tell} show
   */
  const also = (methods, show) => {
    for (const method of methods) {
      const tell = console[method].bind(console);
      console[method] = (/** @type {unknown[]} */ ...values) => {
        if (room > 0) tell(...values);
        else if (room === 0) sayRest("… the rest of what this cell says is left out");
        room--;
        show(...values);
      };
    }
  };
  also(["log", "info", "warn", "error", "debug", "trace", "group", "groupCollapsed"], (...values) =>
    print(...formatted(values)),
  );
  also(["groupEnd", "clear"], () => {});
  also(["dir"], (value) => print(value));
  also(["table"], print);
  also(["assert"], (condition, ...values) => {
    if (!condition) print("Assertion failed", ...formatted(values));
  });
  also(["time"], (label = "default") => timers.set(String(label), performance.now()));
  also(["timeEnd", "timeLog"], (label = "default") => {
    const start = timers.get(String(label));
    if (start !== undefined) print(`${label}: ${(performance.now() - start).toFixed(3)} ms`);
  });
  also(["count"], (label = "default") => {
    const count = (counts.get(String(label)) ?? 0) + 1;
    counts.set(String(label), count);
    print(`${label}: ${count}`);
  });
  also(["countReset"], (label = "default") => counts.delete(String(label)));
  return () => {
    room = TELL_LIMIT;
  };
}

/**
 * The values with %s and its kin in the first of them filled in, as the console does it.
 * @param {unknown[]} values
 */
export function formatted(values) {
  const [format, ...rest] = values;
  if (typeof format !== "string" || rest.length === 0) return values;
  const text = format.replace(/%[sdifoOc%]/g, (directive) => {
    if (directive === "%%") return "%";
    if (rest.length === 0) return directive;
    const value = /** @type {any} */ (rest.shift());
    if (directive === "%c") return ""; // a style, which text has not
    if (directive === "%f") return String(Number.parseFloat(value));
    if (directive === "%d" || directive === "%i") return String(Number.parseInt(value, 10));
    return printed(value);
  });
  return [text, ...rest];
}
