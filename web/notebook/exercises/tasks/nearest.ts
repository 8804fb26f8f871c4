// The exercise of notebook 7: which scores could be among the best.

import type { Task } from "../grade.js";

const candidates: Task = {
  id: "candidates",
  name: "candidates_of",
  results: "a list of places",
  trials: [
    { label: "one is certain", args: () => [[9, 5, 1], [1, 1, 1], 1] },
    { label: "two overlap", args: () => [[8, 7.5, 3], [1, 0.5, 0.5], 1] },
    {
      label: "the two best of five",
      args: () => [[1, 6, 4.5, 9, 4], [0.25, 0.5, 1.5, 0.5, 0.25], 2],
    },
    { label: "an upper end that equals the threshold", args: () => [[5, 3], [1, 1], 1] },
    { label: "a large error far below", args: () => [[10, 9, 2, 1], [0.5, 0.5, 9, 0.5], 2] },
    { label: "equal scores", args: () => [[2, 2, 2], [0, 0, 0], 2] },
    { label: "a best score with a large error", args: () => [[10, 8, 6.75], [4, 0.5, 0.25], 1] },
    { label: "fewer scores than k", args: () => [[1, 2], [0.5, 0.5], 5] },
  ],
  mistakes: {
    strict: "It leaves out an upper end that equals the threshold: that score could be as good.",
    noUpper:
      "It compares the scores themselves with the threshold: a score may be as large as its upper end.",
    lowerEnd: "It compares lower ends with the threshold: a candidate's upper end has to reach it.",
    scoreThreshold:
      "It takes the k-th largest score as the threshold: only the k-th largest lower end is certain to be reached.",
    upperThreshold:
      "It takes the k-th largest upper end as the threshold: nobody needs to reach an upper end.",
    oneMore: "It takes the lower end at place k: the list begins with place 0.",
    smallest: "It takes the k-th smallest lower end: the largest ones are the best.",
    ofBest:
      "It takes the lower end of the k-th best score: another score may have a larger lower end.",
    best: "It gives the k best scores: errors may change their order.",
    count: "It gives the number of candidates: give their places.",
    values: "It gives the scores: give their places.",
    none: "With fewer scores than k it gives none: all of them are among the k best then.",
  },
  make: (_, has) => (scores, errors, k) => {
    const places = scores.map((_score: number, i: number) => i);
    const byScore = places.toSorted((a: number, b: number) => scores[b] - scores[a]);
    if (has("best")) {
      return byScore.slice(0, k).sort((a: number, b: number) => a - b);
    }
    const lower = (i: number) => scores[i] - errors[i];
    const upper = (i: number) => scores[i] + errors[i];
    const end = has("upperThreshold")
      ? upper
      : has("scoreThreshold")
        ? (i: number) => scores[i]
        : lower;
    const inOrder = places
      .map(end)
      .sort((a: number, b: number) => (has("smallest") ? a - b : b - a));
    const place = has("oneMore") ? k : k - 1;
    const threshold = has("ofBest")
      ? places.length < k
        ? undefined
        : lower(byScore[k - 1])
      : inOrder[place];
    const own = has("lowerEnd") ? lower : has("noUpper") ? (i: number) => scores[i] : upper;
    const least = threshold ?? (has("none") ? Number.NaN : -Infinity);
    const found = places.filter((i: number) => (has("strict") ? own(i) > least : own(i) >= least));
    if (has("count")) return found.length;
    return has("values") ? found.map((i: number) => scores[i]) : found;
  },
};

export default [candidates];
