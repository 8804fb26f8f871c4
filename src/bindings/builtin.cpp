// embind registrations of C++'s own types. Emscripten's libembind registers all of them, including
// strings, 64-bit integers and memory views, and prints addresses of unregistered types, which
// takes sprintf. These bindings pass only numbers, booleans and enumerations, so this file
// registers these types and libembind is left out.
#include <emscripten/bind.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <typeinfo>

extern "C" {

// EMSCRIPTEN_BINDINGS blocks run in their static constructors. embind lists them to run them again
// in workers of its own, which this library does not have; the linker requires both functions.
void _embind_register_bindings(emscripten::internal::InitFunc* /*binding*/) {}
void _embind_initialize_bindings() {}

// Required by Emscripten. The names of types are never read.
const char* __getTypeName(const std::type_info* /*type*/) { return nullptr; }

}  // extern "C"

namespace zeropoint::bindings {
namespace {

using emscripten::internal::_embind_register_float;
using emscripten::internal::_embind_register_integer;
using emscripten::internal::TypeID;

template <typename T>
void register_integer(const char* name) {
  _embind_register_integer(TypeID<T>::get(), name, sizeof(T), std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::max());
}

template <typename T>
void register_float(const char* name) {
  _embind_register_float(TypeID<T>::get(), name, sizeof(T));
}

}  // namespace

EMSCRIPTEN_BINDINGS(builtin) {
  using namespace emscripten::internal;
  _embind_register_void(TypeID<void>::get(), "void");
  _embind_register_bool(TypeID<bool>::get(), "bool", true, false);
  register_integer<int>("int");
  register_integer<unsigned>("unsigned int");
  register_integer<long>("long");
  register_integer<unsigned long>("unsigned long");
  register_float<float>("float");
  register_float<double>("double");
}

}  // namespace zeropoint::bindings
