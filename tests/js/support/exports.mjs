// The exports of zeropoint and zeropoint/torch as one table.

import * as main from "zeropoint";
import * as torch from "zeropoint/torch";

export const zeropoint = { ...main, ...torch };
