// Entries of QConfigs for quantization-aware training.

import { rangeError } from "../base/errors.js";
import { shortName } from "./with-args.js";

/**
 * The entries of PyTorch's QConfigs for quantization-aware training, as data and print: models whose
 * QConfigs contain them can be read and compared. Making an observer from one throws.
 */
class TrainingOnly {
  declare static readonly pythonName?: string;

  constructor() {
    throw rangeError(
      "ZP_UNSUPPORTED_QCONFIG",
      shortName(new.target),
      "this QConfig entry is for quantization-aware training, which this library does not run",
    );
  }
}

export class FakeQuantize extends TrainingOnly {
  static override readonly pythonName = "torch.ao.quantization.fake_quantize.FakeQuantize";
}

export class FusedMovingAvgObsFakeQuantize extends TrainingOnly {
  static override readonly pythonName =
    "torch.ao.quantization.fake_quantize.FusedMovingAvgObsFakeQuantize";
}

export class Identity extends TrainingOnly {
  static override readonly pythonName = "torch.nn.modules.linear.Identity";
}
