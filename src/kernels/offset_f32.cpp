// 16 values per step with a real offset: subtract it, divide by the scale, clamp, round half to
// even, narrow; and back: widen, convert, multiply by the scale, add the offset.
// Parity: bit-identical to reference/offset_f32.h for every float, NaN included.
#include "kernels/qparams_lanes.h"

namespace zeropoint::kernels {
namespace {

// Values to steps from the offset, clamped but not rounded. NaN counts as 0.
class Steps {
 public:
  explicit Steps(const CodeRule& rule)
      : low_(wasm_f32x4_splat(static_cast<float>(rule.qmin))),
        high_(wasm_f32x4_splat(static_cast<float>(rule.qmax))) {}

  [[nodiscard]] v128_t of(v128_t x, const QParamsLanes& q) const {
    const v128_t number = wasm_v128_and(x, wasm_f32x4_eq(x, x));
    const v128_t steps = wasm_f32x4_div(wasm_f32x4_sub(number, q.zero_point), q.factor);
    return wasm_f32x4_pmax(wasm_f32x4_pmin(steps, high_), low_);
  }

 private:
  v128_t low_;
  v128_t high_;
};

template <typename Code>
v128_t round_steps(v128_t steps) {
  if constexpr (sizeof(Code) == 4) {
    return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(steps));
  } else {
    return wasm_i32x4_sub(wasm_f32x4_add(steps, wasm_f32x4_splat(kMagic)),
                          wasm_i32x4_splat(kMagicBits));
  }
}

v128_t value_of(v128_t steps, const QParamsLanes& q) {
  return wasm_f32x4_add(wasm_f32x4_mul(q.factor, steps), q.zero_point);
}

// The three operations, over whole steps.
template <typename Code>
struct Quantize {
  using From = float;
  using To = Code;
  Steps steps;

  explicit Quantize(const CodeRule& rule) : steps(rule) {}

  template <typename Lanes>
  void run(const float* x, std::size_t i, const Lanes& lanes, Code* out) const {
    Int32x16 codes;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t at = i + 4 * j;
      codes.lanes[j] = round_steps<Code>(steps.of(wasm_v128_load(x + at), lanes.load(at)));
    }
    store_codes(codes, out + i);
  }
};

template <typename Code>
struct Dequantize {
  using From = Code;
  using To = float;

  explicit Dequantize(const CodeRule&) {}

  template <typename Lanes>
  void run(const Code* codes, std::size_t i, const Lanes& lanes, float* out) const {
    const Int32x16 widened = load_codes(codes + i);
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t at = i + 4 * j;
      wasm_v128_store(out + at,
                      value_of(wasm_f32x4_convert_i32x4(widened.lanes[j]), lanes.load(at)));
    }
  }
};

struct FakeQuantize {
  using From = float;
  using To = float;
  Steps steps;

  explicit FakeQuantize(const CodeRule& rule) : steps(rule) {}

  template <typename Lanes>
  void run(const float* x, std::size_t i, const Lanes& lanes, float* out) const {
    for (std::size_t at = i; at < i + kStep; at += 4) {
      const QParamsLanes q = lanes.load(at);
      // Adding 0 turns -0 into +0, the value of the code 0.
      const v128_t code = wasm_f32x4_add(wasm_f32x4_nearest(steps.of(wasm_v128_load(x + at), q)),
                                         wasm_f32x4_splat(0.0F));
      wasm_v128_store(out + at, value_of(code, q));
    }
  }
};

template <typename Work>
void run_groups(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                void* to) {
  const auto* source = static_cast<const typename Work::From*>(from);
  auto* out = static_cast<typename Work::To*>(to);
  const Work work(rule);
  for_groups(n, q,
             [&](std::size_t first, std::size_t count, const UniformLanes& lanes, std::size_t) {
               for (std::size_t i = 0; i < count; i += kStep) {
                 work.run(source + first, i, lanes, out + first);
               }
             });
}

template <typename Work>
void run_columns(const void* from, std::size_t n, const AnyQParams& q, const CodeRule& rule,
                 void* to) {
  const Work work(rule);
  const ElementwiseLanes lanes(q.each);
  for (std::size_t i = 0; i < n; i += kStep) {
    work.run(static_cast<const typename Work::From*>(from), i, lanes,
             static_cast<typename Work::To*>(to));
  }
}

template <typename Work>
constexpr Operation kOperationOf{sizeof(typename Work::From),
                                 sizeof(typename Work::To),
                                 false,
                                 run_groups<Work>,
                                 run_columns<Work>,
                                 nullptr};

template <typename Code>
struct OffsetQuantization {
  static constexpr Operation kOperation = kOperationOf<Quantize<Code>>;
};

template <typename Code>
struct OffsetDequantization {
  static constexpr Operation kOperation = kOperationOf<Dequantize<Code>>;
};

}  // namespace

const Operation& offset_quantization(Storage codes) {
  return operation_of<OffsetQuantization>(codes);
}

const Operation& offset_dequantization(Storage codes) {
  return operation_of<OffsetDequantization>(codes);
}

const Operation& offset_fake_quantization() { return kOperationOf<FakeQuantize>; }

}  // namespace zeropoint::kernels
