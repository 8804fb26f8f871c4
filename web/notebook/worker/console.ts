// Messages to the console are shown in the page as well, in JavaScript's notation.

import { inspected } from "./inspect.js";

type Tell = (...values: any[]) => void;

// Limit on messages passed to the browser's console. The browser forwards each one to the page's thread,
// which an endless loop would block, including the Stop button.
const TELL_LIMIT = 1000;

/**
 * Makes a console also print to the page.
 * @returns resets the number of messages passed to the console
 */
export function connectConsole(console: any, print: Tell): () => void {
  let room = TELL_LIMIT;
  const sayRest = console.warn.bind(console);
  const timers = new Map<string, number>();
  const counts = new Map<string, number>();
  const also = (methods: string[], show: Tell) => {
    for (const method of methods) {
      const tell = console[method].bind(console);
      console[method] = (...values: unknown[]) => {
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
  // The page shows nothing of these methods: they reach the browser's console alone, within the same limit.
  const rest = ["dirxml", "context", "profile", "profileEnd", "timeStamp"];
  also(
    rest.filter((method) => typeof console[method] === "function"),
    () => {},
  );
  return () => {
    room = TELL_LIMIT;
  };
}

/** Fills in the format directives (%s, %d, ...) of the first value, as the console does. */
export function formatted(values: unknown[]) {
  const [format, ...rest] = values;
  if (typeof format !== "string" || rest.length === 0) return values;
  const text = format.replace(/%[sdifoOc%]/g, (directive) => {
    if (directive === "%%") return "%";
    if (rest.length === 0) return directive;
    const value = rest.shift() as any;
    if (directive === "%c") return ""; // a style, which text has not
    if (directive === "%f") return String(Number.parseFloat(value));
    if (directive === "%d" || directive === "%i") return String(Number.parseInt(value, 10));
    return typeof value === "string" ? value : inspected(value);
  });
  return [text, ...rest];
}
