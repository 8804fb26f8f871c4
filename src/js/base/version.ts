// The version of the package, for files that say what made them.

/** The same as in package.json, as a test checks. */
export const VERSION = "0.1.0";
