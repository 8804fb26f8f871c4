// zeropoint: linear quantization with PyTorch's bits. Includes the headers in pipeline order.
//
// Functions check their arguments and return a Status; none throws, allocates or prints. They keep
// no state between calls and run on the calling thread; in the WebAssembly builds with threads,
// large calls are divided among all threads. Several threads may call them at once, for example
// each with some rows of a layer, if no thread writes memory that another one reads or writes. They
// use up to 150 KB of stack; Emscripten's default is 64 KB, so link with -sSTACK_SIZE=256KB.
#pragma once

#include "zeropoint/blocks.h"
#include "zeropoint/dequantize.h"
#include "zeropoint/dtype.h"
#include "zeropoint/error.h"
#include "zeropoint/granularity.h"
#include "zeropoint/half.h"
#include "zeropoint/linear.h"
#include "zeropoint/observer.h"
#include "zeropoint/pack.h"
#include "zeropoint/qparams.h"
#include "zeropoint/quantize.h"
#include "zeropoint/range.h"
#include "zeropoint/row_errors.h"
#include "zeropoint/search.h"
#include "zeropoint/status.h"
#include "zeropoint/tensor.h"
