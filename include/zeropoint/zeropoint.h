// zeropoint: linear quantization with PyTorch's bits. The headers, in the order data flows.
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
