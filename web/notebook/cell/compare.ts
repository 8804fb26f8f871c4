// Is this the expected text, and if not, where do the two differ?

type DiffLine = { kind: "same" | "expected" | "actual"; text: string };

export function matches(actual: string, expected: string) {
  return trimmed(actual) === trimmed(expected);
}

/** The lines of both texts, each marked as common or as belonging to one side: the shortest such list. */
export function diffLines(actual: string, expected: string): DiffLine[] {
  const a = trimmed(expected).split("\n");
  const b = trimmed(actual).split("\n");
  // common[i][j]: the number of lines that a from i and b from j have in common, in order.
  const common = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] =
        a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i++] });
      j++;
    } else if (j === b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) {
      lines.push({ kind: "expected", text: a[i++] });
    } else {
      lines.push({ kind: "actual", text: b[j++] });
    }
  }
  return lines;
}

function trimmed(text: string) {
  return text.replace(/[ \t]+$/gm, "").replace(/^\n+|\n+$/g, "");
}
