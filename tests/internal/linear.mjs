// What the tests use of src/js/linear beyond the public exports: packed weights.

export { PackedWeight } from "../../dist/linear/packed-weight.js";
