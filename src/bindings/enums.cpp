// Enumerations, which JavaScript names by text. They must be registered before the functions that
// take them: constructors run in the order in which files are linked, which is that of their names.
#include "bindings/register.h"
#include "core/dot_choice.h"
#include "kernels/relaxed.h"
#include "zeropoint/zeropoint.h"

namespace zeropoint::bindings {

EMSCRIPTEN_BINDINGS(enums) {
  using emscripten::enum_;
  using emscripten::enum_value_type;

  enum_<Status>("Status", enum_value_type::string)
      .value("kOk", Status::kOk)
      .value("kShapeMismatch", Status::kShapeMismatch)
      .value("kSizeOverflow", Status::kSizeOverflow)
      .value("kInvalidScale", Status::kInvalidScale)
      .value("kInvalidZeroPoint", Status::kInvalidZeroPoint)
      .value("kInvalidOffset", Status::kInvalidOffset)
      .value("kInvalidAxis", Status::kInvalidAxis)
      .value("kInvalidGroupSize", Status::kInvalidGroupSize)
      .value("kNonFinite", Status::kNonFinite)
      .value("kEmpty", Status::kEmpty)
      .value("kUnsignedSymmetric", Status::kUnsignedSymmetric)
      .value("kUnsupportedDType", Status::kUnsupportedDType);
  enum_<DType>("DType", enum_value_type::string)
      .value("int2", DType::kInt2)
      .value("int3", DType::kInt3)
      .value("int4", DType::kInt4)
      .value("int5", DType::kInt5)
      .value("int6", DType::kInt6)
      .value("int7", DType::kInt7)
      .value("int8", DType::kInt8)
      .value("uint1", DType::kUint1)
      .value("uint2", DType::kUint2)
      .value("uint3", DType::kUint3)
      .value("uint4", DType::kUint4)
      .value("uint5", DType::kUint5)
      .value("uint6", DType::kUint6)
      .value("uint7", DType::kUint7)
      .value("uint8", DType::kUint8)
      .value("int16", DType::kInt16)
      .value("uint16", DType::kUint16)
      .value("int32", DType::kInt32)
      .value("qint8", DType::kQint8)
      .value("quint8", DType::kQuint8)
      .value("qint32", DType::kQint32);
  enum_<Scheme>("Scheme", enum_value_type::string)
      .value("symmetric", Scheme::kSymmetric)
      .value("affine", Scheme::kAffine)
      .value("offset", Scheme::kOffset);
  enum_<Rule>("Rule", enum_value_type::string)
      .value("course", Rule::kCourse)
      .value("onnx", Rule::kOnnx)
      .value("torch", Rule::kTorch);
  enum_<NonFinite>("NonFinite", enum_value_type::string)
      .value("throw", NonFinite::kThrow)
      .value("ignore", NonFinite::kIgnore)
      .value("keep", NonFinite::kKeep);
  enum_<Metric>("Metric", enum_value_type::string)
      .value("mse", Metric::kMse)
      .value("mae", Metric::kMae)
      .value("max", Metric::kMax)
      .value("sqnr", Metric::kSqnr)
      .value("cosine", Metric::kCosine);
  enum_<Accumulate>("Accumulate", enum_value_type::string)
      .value("exact", Accumulate::kExact)
      .value("float32", Accumulate::kFloat32);
  enum_<WeightGranularity>("WeightGranularity", enum_value_type::string)
      .value("perTensor", WeightGranularity::kPerTensor)
      .value("perOutput", WeightGranularity::kPerOutput)
      .value("perInput", WeightGranularity::kPerInput)
      .value("perGroup", WeightGranularity::kPerGroup);
  enum_<WeightShift>("WeightShift", enum_value_type::string)
      .value("none", WeightShift::kNone)
      .value("zeroPoints", WeightShift::kZeroPoints)
      .value("offsets", WeightShift::kOffsets);

  enum_<HalfType>("HalfType", enum_value_type::string)
      .value("float16", HalfType::kFloat16)
      .value("bfloat16", HalfType::kBfloat16);

  enum_<BlockType> block_types("BlockType", enum_value_type::string);
  for (int i = 0; i < kBlockTypes; ++i) {
    const auto type = static_cast<BlockType>(i);
    block_types.value(block_info(type).name.data(), type);
  }

  enum_<Overflow>("Overflow", enum_value_type::string)
      .value("saturate", Overflow::kSaturate)
      .value("torch", Overflow::kTorch);
  enum_<QScheme>("QScheme", enum_value_type::string)
      .value("affine", QScheme::kAffine)
      .value("symmetric", QScheme::kSymmetric)
      .value("floatQParams", QScheme::kFloatQParams);

  enum_<Similarity>("Similarity", enum_value_type::string)
      .value("cosine", Similarity::kCosine)
      .value("dot", Similarity::kDot)
      .value("euclidean", Similarity::kEuclidean);
  enum_<VectorCodes>("VectorCodes", enum_value_type::string)
      .value("int8", VectorCodes::kInt8)
      .value("int4", VectorCodes::kInt4)
      .value("binary", VectorCodes::kBinary);
  enum_<Originals>("Originals", enum_value_type::string)
      .value("none", Originals::kNone)
      .value("float32", Originals::kFloat32)
      .value("float16", Originals::kFloat16);

#if ZEROPOINT_RELAXED
  enum_<LayerKernels>("LayerKernels", enum_value_type::string)
      .value("relaxed", LayerKernels::kRelaxed)
      .value("mixed", LayerKernels::kMixed)
      .value("baseline", LayerKernels::kBaseline);
#endif
}

}  // namespace zeropoint::bindings
