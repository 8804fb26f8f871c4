// Disposes of the resources of a case's entries.

/** @param {(() => unknown)[]} disposals  may grow until the returned function is called */
export const disposeAll = (disposals) => () => {
  for (const dispose of disposals) dispose();
};
