// Reads a dtype from the static library, quantizes a row in the shared one, and fails unless both
// are right.
#include <zeropoint/zeropoint.h>

#include "row.h"

int main() {
  const bool right = zeropoint::dtype_info(zeropoint::DType::kInt8).qmax == 127 && quantizes_row();
  return right ? 0 : 1;
}
