// The script of the worker of a connection with `zeropoint/models`, in one file as worker.js.

import * as models from "./library/models.js";
import { serve } from "./serve.js";

serve({ models });
