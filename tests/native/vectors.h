// Reads tests/vectors/*.json; their README.md explains the encodings.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensors.h"
#include "zeropoint/dtype.h"

namespace zeropoint::testing {

using Json = nlohmann::json;

/// The cases of one file, named without its ending.
inline std::vector<Json> vector_cases(const std::string& name) {
  std::ifstream file(std::string(ZEROPOINT_VECTORS_DIR) + "/" + name + ".json");
  // A missing or broken file gives no cases instead of an exception; the counts in each test fail.
  const Json content = Json::parse(file, nullptr, false);
  return content.is_object() ? content.value("cases", std::vector<Json>()) : std::vector<Json>();
}

inline std::vector<std::uint8_t> base64_bytes(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<std::uint32_t>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> static_cast<unsigned>(count)));
  }
  return bytes;
}

/// Little-endian bytes as numbers. Correct on little-endian machines only.
template <typename T>
std::vector<T> from_bytes(const std::vector<std::uint8_t>& bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// zlib's checksum of the values' little-endian bytes, in hex.
template <typename T>
std::string crc32(const std::vector<T>& values) {
  std::uint32_t crc = UINT32_MAX;
  for (const T value : values) {
    for (const std::uint8_t byte : std::bit_cast<std::array<std::uint8_t, sizeof(T)>>(value)) {
      crc ^= byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  }
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", ~crc);
  return text.data();
}

inline bool is_tensor(const Json& json, std::string_view type) {
  return json.is_object() && json.contains("shape") && json.value("t", "") == type;
}

inline std::vector<float> generated_floats(const Json& json) {
  const double low = json["lo"];
  const double high = json["hi"];
  std::uint32_t state = json["seed"];
  std::vector<float> values(json["n"].get<std::size_t>());
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(low + (high - low) * (state * 0x1p-32));
  }
  return values;
}

/// A double, or a Python int.
inline double read_number(const Json& json) {
  if (json.is_number()) return json;
  const auto bits = std::stoull(json["hex"].get<std::string>(), nullptr, 16);
  return std::bit_cast<double>(static_cast<std::uint64_t>(bits));
}

/// A tensor or number of any kind, rounded to float32 as PyTorch does when it meets a float32
/// tensor.
inline Tensor<float> read_floats(const Json& json) {
  if (json.contains("gen")) return vector_of(generated_floats(json));
  if (!json.is_object() || !json.contains("shape")) {
    return scalar(static_cast<float>(read_number(json)));
  }
  Tensor<float> tensor;
  tensor.shape = json["shape"].get<ShapeVector>();
  if (json["t"] == "f32") {
    tensor.values = from_bytes<float>(base64_bytes(json["b64"].get<std::string>()));
  } else if (json["t"] == "f64") {
    for (const double value : from_bytes<double>(base64_bytes(json["b64"].get<std::string>()))) {
      tensor.values.push_back(static_cast<float>(value));
    }
  } else {
    for (const std::int64_t value : json["data"]) {
      tensor.values.push_back(static_cast<float>(value));
    }
  }
  return tensor;
}

inline std::vector<double> read_doubles(const Json& json) {
  return from_bytes<double>(base64_bytes(json["b64"].get<std::string>()));
}

/// An integer tensor's values, or a plain list of integers.
template <typename Code>
std::vector<Code> read_codes(const Json& json) {
  std::vector<Code> codes;
  for (const Json& code : json.is_array() ? json : json["data"]) {
    codes.push_back(static_cast<Code>(code.get<std::int64_t>()));
  }
  return codes;
}

/// The dtype of a name; int64 is not one of the core's.
inline std::optional<DType> read_dtype(const Json& json) {
  for (const DType dtype : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kInt32,
                            DType::kQint8, DType::kQuint8, DType::kQint32}) {
    if (json == dtype_info(dtype).name) return dtype;
  }
  return std::nullopt;
}

}  // namespace zeropoint::testing
