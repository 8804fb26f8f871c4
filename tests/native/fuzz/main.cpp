// Entry point of libFuzzer: one call for each input.
#include "fuzz.h"

// The name is libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  zeropoint::fuzz::run({data, size});
  return 0;
}
