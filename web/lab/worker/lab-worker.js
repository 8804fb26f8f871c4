// Runs the lab's commands off the page's thread.

import { serveCalls } from "../../shell/calls/serve.js";
import * as commands from "./commands.js";

serveCalls(commands);
