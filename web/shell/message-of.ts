/** The message of what was thrown. */
export const messageOf = (thrown: unknown) =>
  thrown instanceof Error ? thrown.message : String(thrown);
