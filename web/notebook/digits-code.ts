// The module "./digits.js" of the page as code for a notebook that is downloaded, with the digits in it.

const SPECIFIER = /(["'])\.\/digits\.js\1/;

/** Whether code imports the digits. */
export const usesDigits = (code: string) => SPECIFIER.test(code);

/** Takes imports of the digits from `digitsModule()`: those of a cell, and those that `toModule` makes of them. */
export const importsReplaced = (code: string) =>
  code
    .replace(/await import\((["'])\.\/digits\.js\1\)/g, "await digitsModule()")
    .replace(
      /import\s*\{([^}]*)\}\s*from\s*(["'])\.\/digits\.js\2/g,
      (_, names: string) => `const {${names.replace(/\s+as\s+/g, ": ")}} = await digitsModule()`,
    )
    .replace(
      /import\s*\*\s*as\s+([\w$]+)\s+from\s*(["'])\.\/digits\.js\2/g,
      "const $1 = await digitsModule()",
    );

/**
 * The function `digitsModule`.
 * @param reader  the text of scripts/cost/file.mjs
 * @param bytes  of the file of digits
 * @param library  the specifier of zeropoint
 */
export function digitsCode(reader: string, bytes: Uint8Array, library: string) {
  const body = reader
    .replace(
      /^import (\{[^}]*\}) from "zeropoint";$/m,
      (_, names) => `const ${names} = await import(${JSON.stringify(library)});`,
    )
    .replace(/^export /gm, "")
    .trim()
    .replace(/^(?=.)/gm, "  ");
  let binary = "";
  for (let i = 0; i < bytes.length; i += 2 ** 13) {
    binary += String.fromCharCode(...bytes.subarray(i, i + 2 ** 13));
  }
  return `/** "./digits.js" of the page: the digits and the trained network of notebook 6. */
async function digitsModule() {
${body}

  const file = Uint8Array.from(atob("${btoa(binary)}"), (letter) => letter.charCodeAt(0));
  return { loadDigits: () => decode(file) };
}
`;
}
