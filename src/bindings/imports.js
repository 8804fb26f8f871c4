// The functions that the core imports by name. src/js/core/bindings.ts implements them: the package ships
// the linker's binary and none of the linker's JavaScript, so only the names matter here, and the linker
// refuses every other undefined symbol.

const imports = {
  _embind_register_void(_type, _name) {},
  _embind_register_bool(_type, _name, _true, _false) {},
  _embind_register_float(_type, _name, _size) {},
  _embind_register_integer(_type, _name, _size, _least, _most) {},
  _embind_register_enum(_type, _name, _size, _isSigned, _valueType) {},
  _embind_register_enum_value(_type, _name, _value) {},
  _embind_register_function(
    _name,
    _count,
    _types,
    _signature,
    _invoker,
    _core,
    _async,
    _nonnull,
  ) {},
  zeropoint_worker_lost() {},
};

// Types are written (--emit-tsd) by Emscripten's own implementation; it requests names of unknown types only.
const withoutNames = { $getTypeName: () => "", $getTypeName__deps: [], zeropoint_worker_lost() {} };

addToLibrary(EMBIND_GEN_MODE ? withoutNames : imports);
