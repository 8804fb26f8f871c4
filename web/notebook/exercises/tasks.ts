// All exercises, by the id of their cell: "exercise-codes".

import type { Task } from "./grade.js";
import costs from "./tasks/costs.js";
import formats from "./tasks/formats.js";
import fromData from "./tasks/from-data.js";
import fromScratch from "./tasks/from-scratch.js";
import givenNumbers from "./tasks/given-numbers.js";
import nearest from "./tasks/nearest.js";
import observers from "./tasks/observers.js";
import perChannel from "./tasks/per-channel.js";

/** In the order of the notebooks. */
export const TASKS: Task[] = [
  ...givenNumbers,
  ...fromData,
  ...perChannel,
  ...observers,
  ...fromScratch,
  ...costs,
  ...nearest,
  ...formats,
];

export function taskOf(id: string) {
  const task = TASKS.find((each) => each.id === id);
  if (!task) throw new RangeError(`there is no exercise ${id}`);
  return task;
}
