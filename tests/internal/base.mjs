// What the tests use of src/js/base beyond the public exports: checks of arguments, typed arrays, values in messages.

export { refused } from "../../dist/base/errors.js";
export { OWN, show, showShape } from "../../dist/base/format-value.js";
export { checkOptions } from "../../dist/base/options.js";
export { ARRAYS, findMisfit, newArray, overlap } from "../../dist/base/typed-arrays.js";
export { VERSION } from "../../dist/base/version.js";
