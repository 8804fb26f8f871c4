// Registers functions for JavaScript. Each core function has one wrapper and one registration, in
// the file of its topic: offsets in, Status out. No checks, defaults or arithmetic.
#pragma once

#include <emscripten/bind.h>

// Parameter names serve the generated types only.
#if defined(ZEROPOINT_TYPES)
#define PARAMETERS(...) "(" #__VA_ARGS__ ")"
#else
#define PARAMETERS(...)
#endif

namespace zeropoint::bindings {

// Registers a function for direct calls from JavaScript: numbers, booleans and enumerations need no
// generated invoker.
template <typename Result, typename... Parameters>
void function(const char* name, Result (*pointer)(Parameters...)) {
  static_assert(sizeof...(Parameters) <= 13, "bindings.ts passes on thirteen");
  using namespace emscripten::internal;
  const WithPolicies<>::ArgTypeList<Result, Parameters...> types;
  _embind_register_function(name, types.getCount(), types.getTypes(), "", nullptr,
                            reinterpret_cast<GenericFunction>(pointer), false, false);
}

}  // namespace zeropoint::bindings
