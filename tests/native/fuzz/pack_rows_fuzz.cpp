// pack_rows() and its relatives of linear.h: a weight that grows row by row, against all rows at
// once.
#include "fuzz.h"
#include "reference/groups.h"
#include "zeropoint/linear.h"

namespace zeropoint::fuzz {
namespace {

constexpr WeightGranularity kGranularities[] = {
    WeightGranularity::kPerTensor, WeightGranularity::kPerOutput, WeightGranularity::kPerInput,
    WeightGranularity::kPerGroup};
constexpr WeightShift kShifts[] = {WeightShift::kNone, WeightShift::kZeroPoints,
                                   WeightShift::kOffsets};

template <typename Code>
struct Weight {
  WeightShape shape;
  WeightShift shift;
  std::vector<Code> codes;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  std::vector<float> offsets;

  Weight(Source& source, DType dtype) {
    shape.n = source.below(40);
    shape.k = 1 + source.below(source.flag() ? 12 : 90);
    shape.dtype = dtype;
    shape.granularity = source.pick(kGranularities);
    if (shape.granularity == WeightGranularity::kPerGroup) shape.group_size = 1 + source.below(20);
    shift = source.pick(kShifts);
    codes = source.codes<Code>(shape.n * shape.k, dtype);
    const DTypeInfo info = dtype_info(dtype);
    const int center = info.is_signed() ? 0 : 1 << (info.bits - 1);
    for (std::size_t i = 0; i < shared() + shape.n * per_row(); ++i) {
      scales.push_back(source.scale());
      if (shift == WeightShift::kOffsets) {
        offsets.push_back(static_cast<float>(source.take<std::int8_t>()) * 0.25F);
      } else {
        zero_points.push_back(shift == WeightShift::kNone ? center : source.zero_point(dtype));
      }
    }
  }

  [[nodiscard]] std::size_t per_row() const {
    if (shape.granularity == WeightGranularity::kPerOutput) return 1;
    return shape.granularity == WeightGranularity::kPerGroup
               ? reference::groups_of_row(shape.k, shape.group_size)
               : 0;
  }
  /// Scales that all rows share.
  [[nodiscard]] std::size_t shared() const {
    if (shape.granularity == WeightGranularity::kPerTensor) return 1;
    return shape.granularity == WeightGranularity::kPerInput ? shape.k : 0;
  }

  [[nodiscard]] Status pack(std::size_t first, std::size_t rows, std::byte* to) const {
    const std::size_t at = per_row() * first;
    const std::size_t count = per_row() * rows + shared();
    QuantizedWeight<Code> w;
    w.codes = std::span(codes).subspan(first * shape.k, rows * shape.k);
    w.dtype = shape.dtype;
    w.granularity = shape.granularity;
    w.group_size = shape.group_size;
    w.scales = std::span(scales).subspan(at, count);
    if (shift == WeightShift::kOffsets) {
      w.offsets = std::span(offsets).subspan(at, count);
    } else {
      w.zero_points = std::span(zero_points).subspan(at, count);
    }
    return pack_rows(w, first, rows, to);
  }

  /// A block without rows, with room for some.
  [[nodiscard]] AlignedBytes begin(std::size_t capacity) const {
    WeightShape own = shape;
    own.n = capacity;
    AlignedBytes block(packed_weight_size(own));
    std::memset(block.span().data(), 0, block.span().size());
    check(begin_weight(own, shift, block.span()), Status::kOk);
    return block;
  }

  [[nodiscard]] AlignedBytes grown(const AlignedBytes& from, std::size_t capacity) const {
    AlignedBytes to = begin(capacity);
    check(grow_weight(from.data(), capacity, to.span()), Status::kOk);
    return to;
  }
};

template <typename Code>
void run_weight(Source& source, DType dtype) {
  const Weight<Code> weight(source, dtype);
  const std::size_t n = weight.shape.n;
  AlignedBytes expected = weight.begin(n);
  check(weight.pack(0, n, expected.span().data()), Status::kOk);

  std::size_t capacity = source.below(n + 1);
  AlignedBytes block = weight.begin(capacity);
  std::size_t rows = 0;
  for (int step = 0; step < 20; ++step) {
    switch (source.below(5)) {
      case 0: {  // more room
        capacity = std::min(n, capacity + source.below(20));
        block = weight.grown(block, capacity);
        break;
      }
      case 1: {  // too little room
        if (rows == 0) break;
        AlignedBytes small = weight.begin(rows - 1);
        check(grow_weight(block.data(), rows - 1, small.span()), Status::kShapeMismatch);
        break;
      }
      case 2: {  // fewer rows
        const std::size_t kept = source.below(n + 2);
        keep_rows(block.span().data(), kept);
        rows = std::min(rows, kept);
        break;
      }
      case 3: {  // rows that do not fit, or do not begin a panel
        if (capacity == n) break;
        check(weight.pack(0, capacity + 1, block.span().data()), Status::kShapeMismatch);
        if (n >= 2) check(weight.pack(1, 1, block.span().data()), Status::kShapeMismatch);
        keep_rows(block.span().data(), rows);
        break;
      }
      default: {  // rows from the beginning of a panel on, some of them again
        const std::size_t first = rows == 0 ? 0 : source.below(rows / 8 + 1) * 8;
        const std::size_t last = first + source.below(capacity - first + 1);
        if (last < rows && last % 8 != 0) break;
        check(weight.pack(first, last - first, block.span().data()), Status::kOk);
        rows = std::max(rows, last);
      }
    }
    const MatrixShape shape = packed_weight_shape(block.data());
    check(shape.n == rows && shape.k == weight.shape.k, "a packed weight knows its shape");
    const std::size_t first = source.below(rows + 1);
    Output<std::uint8_t> codes((rows - first) * weight.shape.k);
    check(unpack_rows(block.data(), first, codes.span()), Status::kOk);
    const auto width = static_cast<unsigned>(dtype_info(dtype).bits);
    const unsigned mask = (1U << (width > 4 ? 8U : width > 2 ? 4U : 2U)) - 1;
    for (std::size_t i = 0; i < codes.values().size(); ++i) {
      const auto code = static_cast<unsigned>(codes.values()[i]);
      const auto packed = static_cast<unsigned>(
          static_cast<std::uint8_t>(weight.codes[first * weight.shape.k + i]));
      check((code & mask) == (packed & mask), "the codes that were packed");
    }
  }
  block = weight.grown(block, n);
  check(weight.pack(rows / 8 * 8, n - rows / 8 * 8, block.span().data()), Status::kOk);
  check(std::equal(block.span().begin(), block.span().end(), expected.span().begin()),
        "the bytes of all rows at once");
}

}  // namespace

void run(Source source) {
  const DType dtype = source.pick(kByteDTypes);
  if (dtype_info(dtype).is_signed()) {
    run_weight<std::int8_t>(source, dtype);
  } else {
    run_weight<std::uint8_t>(source, dtype);
  }
}

}  // namespace zeropoint::fuzz
