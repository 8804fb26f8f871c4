// Answers of a model that sorts into classes: the class of the largest score.

import type { RuntimeTensor } from "zeropoint/models";

/**
 * @param scores  [samples, classes]
 * @returns the class of each sample
 */
export function classesOf({ dims: [samples, classes], data }: RuntimeTensor): number[] {
  const scores = data as ArrayLike<number>;
  return Array.from({ length: samples }, (_, sample) => {
    let best = 0;
    for (let i = 1; i < classes; i++) {
      if (scores[sample * classes + i] > scores[sample * classes + best]) best = i;
    }
    return best;
  });
}

/**
 * How far the answers of two models are the same, and right where labels are known: shares of the samples. Of outputs
 * that are no scores of classes nothing.
 * @param original  outputs by name
 */
export function compareAnswers(
  original: Record<string, RuntimeTensor>,
  quantized: Record<string, RuntimeTensor>,
  labels: readonly number[] | undefined,
) {
  return Object.entries(original).flatMap(([name, scores]) => {
    const { type, dims } = scores;
    if (!/^float/.test(type) || dims.length !== 2 || dims[1] < 2 || dims[0] === 0) return [];
    const [before, after] = [scores, quantized[name]].map(classesOf);
    const share = (isSo: (sample: number) => boolean) =>
      before.filter((_, sample) => isSo(sample)).length / before.length;
    const same = share((sample) => before[sample] === after[sample]);
    if (labels?.length !== before.length) return [{ name, same }];
    const right = [before, after].map((each) => share((sample) => each[sample] === labels[sample]));
    return [{ name, same, right }];
  });
}
