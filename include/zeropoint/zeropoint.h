// zeropoint: linear quantization with PyTorch's bits. The headers, in the order data flows.
//
// Functions check what they are given and answer a Status; none throws, allocates or prints. They
// keep nothing between calls and work on the thread that calls them, so any number of threads may
// call them at a time, say each with some rows of a layer, as long as nobody writes to what another
// one reads or writes. They take up to 150 KB of stack; Emscripten gives 64, unless told otherwise
// by -sSTACK_SIZE=256KB.
#pragma once

#include "zeropoint/dequantize.h"
#include "zeropoint/dtype.h"
#include "zeropoint/error.h"
#include "zeropoint/granularity.h"
#include "zeropoint/linear.h"
#include "zeropoint/observer.h"
#include "zeropoint/pack.h"
#include "zeropoint/qparams.h"
#include "zeropoint/quantize.h"
#include "zeropoint/range.h"
#include "zeropoint/status.h"
#include "zeropoint/tensor.h"
