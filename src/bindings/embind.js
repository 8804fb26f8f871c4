// The JavaScript half of embind, as far as these bindings need it: functions of numbers, booleans and
// enumerations, which are strings here. Emscripten's own also knows classes, strings, overloads and types
// that come later, and is twelve times as large; it is what writes the types (--emit-tsd).

const library = {
  // Of each type: the values of an enumeration by their names, and the other way round.
  $enumerations: {},
  // Of each type: whether it is an unsigned integer. As a result it comes from the core with a sign.
  $unsigned: {},

  _embind_register_void(_type, _name) {},
  _embind_register_bool(_type, _name, _true, _false) {},
  _embind_register_float(_type, _name, _size) {},

  _embind_register_integer__deps: ["$unsigned"],
  _embind_register_integer(type, _name, _size, least, _most) {
    unsigned[type] = least === 0;
  },

  _embind_register_enum__deps: ["$enumerations"],
  _embind_register_enum(type, _name, _size, _isSigned, _valueType) {
    enumerations[type] = { values: {}, names: [] };
  },

  _embind_register_enum_value__deps: ["$enumerations", "$AsciiToString"],
  _embind_register_enum_value(type, name, value) {
    const { values, names } = enumerations[type];
    names[value] = AsciiToString(name);
    values[names[value]] = value;
  },

  _embind_register_function__deps: [
    "$enumerations",
    "$unsigned",
    "$AsciiToString",
    "$wasmTable",
    "$HEAPU32",
  ],
  _embind_register_function(
    name,
    count,
    types,
    _signature,
    _invoker,
    pointer,
    _isAsync,
    _isNonnull,
  ) {
    const [result, ...parameters] = Array.from(
      { length: count },
      (_, i) => HEAPU32[(types >>> 2) + i],
    );
    const { names } = enumerations[result] ?? {};
    const isUnsigned = unsigned[result];
    const [A, B, C, D, E, F, G, H, I, J, K, L] = parameters.map(
      (type) => enumerations[type]?.values,
    );
    const core = wasmTable.get(pointer);
    // One function for all numbers of parameters: the core ignores those that it has not.
    Module[AsciiToString(name)] = (a, b, c, d, e, f, g, h, i, j, k, l) => {
      const value = core(
        A ? A[a] : a,
        B ? B[b] : b,
        C ? C[c] : c,
        D ? D[d] : d,
        E ? E[e] : e,
        F ? F[f] : f,
        G ? G[g] : g,
        H ? H[h] : h,
        I ? I[i] : i,
        J ? J[j] : j,
        K ? K[k] : k,
        L ? L[l] : l,
      );
      return names ? names[value] : isUnsigned ? value >>> 0 : value;
    };
  },
};

// Where types are written it is Emscripten's own half, which asks for the names of unknown types only.
const withoutNames = { $getTypeName: () => "", $getTypeName__deps: [] };

addToLibrary(EMBIND_GEN_MODE ? withoutNames : library);
