// What the tests use of src/js/worker beyond the public exports: starting a worker, parts of results.

export { cutQParams } from "../../dist/worker/batches/boxes.js";
export { viteAdvice } from "../../dist/worker/start.js";
