// The script of a connection's worker. The build makes one file of it, since some bundlers copy it as it is, alone.

import { serve } from "./serve.js";

serve({});
