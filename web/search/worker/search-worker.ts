// Runs the searches off the page's thread.

import { serveCalls } from "../../shell/calls/serve.js";
import * as digits from "./digits.js";
import * as vectors from "./vectors.js";

serveCalls({ ...digits, ...vectors });
