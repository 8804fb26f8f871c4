// The overview strip: a bar for each tensor, as wide as its share of the file.

import { bytesText } from "../../shell/drawing/numbers.js";

const WIDTH = 1000;
/** Bars narrower than this, in thousandths of the strip, are joined with their neighbours. */
const NARROWEST = 1.5;

type StripTensor = {
  name: string;
  byteLength: number;
  bytesAfter?: number | undefined;
  isKept: boolean;
};

/** Groups of neighbours that are wide enough to be seen. */
export function groupBars(tensors: readonly StripTensor[]) {
  const total = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0) || 1;
  const bars: { first: string; count: number; bytes: number; after: number; kept: number }[] = [];
  let width = 0;
  for (const { name, byteLength, bytesAfter = byteLength, isKept } of tensors) {
    const share = (WIDTH * byteLength) / total;
    const last = bars.at(-1);
    if (last && width < NARROWEST && share < NARROWEST) {
      last.count++;
      last.bytes += byteLength;
      last.after += bytesAfter;
      last.kept += isKept ? byteLength : 0;
      width += share;
    } else {
      bars.push({
        first: name,
        count: 1,
        bytes: byteLength,
        after: bytesAfter,
        kept: isKept ? byteLength : 0,
      });
      width = share;
    }
  }
  return { bars, total };
}

/** onChoose: called with the first tensor of a bar. */
type Props = { tensors: readonly StripTensor[]; onChoose: (name: string) => void };

/** The full height is the tensor as it is, the filled part what the plan leaves of it. */
export function Strip({ tensors, onChoose }: Props) {
  const { bars, total } = groupBars(tensors);
  let x = 0;
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${WIDTH} 60`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Shares of ${tensors.length} tensors in ${bytesText(total)}; the table below lists them`}
    >
      {bars.map(({ first, count, bytes, after, kept }) => {
        const share = (WIDTH * bytes) / total;
        const box = { x, width: Math.max(0, share - 0.6) };
        x += share;
        const height = bytes === 0 ? 0 : (60 * after) / bytes;
        const what = count === 1 ? first : `${first} and ${count - 1} more`;
        const planned = after < bytes ? `, planned ${bytesText(after)}` : "";
        return (
          <g
            class={kept > bytes / 2 ? "strip-bar is-kept" : "strip-bar"}
            data-tensor={first}
            onClick={() => onChoose(first)}
          >
            <title>{`${what}: ${bytesText(bytes)}${planned}`}</title>
            <rect class="strip-whole" {...box} y={0} height={60} />
            <rect class="strip-rest" {...box} y={60 - height} height={height} />
          </g>
        );
      })}
    </svg>
  );
}
