// What the tests use of src/js/worker beyond the public exports: starting a worker.

export { viteAdvice } from "../../dist/worker/start.js";
