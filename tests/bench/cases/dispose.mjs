// Gives back what the entries of a case hold.

/** @param {(() => unknown)[]} disposals  may grow until it is used */
export const disposeAll = (disposals) => () => {
  for (const dispose of disposals) dispose();
};
