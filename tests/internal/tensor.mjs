// What the tests use of src/js/tensor beyond the public exports: shapes, tiles and ranges.

export { checkNested, checkTensor } from "../../dist/tensor/check.js";
export { rangesOf } from "../../dist/tensor/range.js";
export { checkShape, sizeOf } from "../../dist/tensor/shape.js";
export { TILE, tilesOf } from "../../dist/tensor/tiles.js";
