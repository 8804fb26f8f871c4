// The integer types that values are quantized to.

/** The array that holds the codes of each dtype. Sub-byte codes take one element each. */
export interface CodesByDType {
  /** −2 to 1. */
  int2: Int8Array;
  /** −4 to 3. */
  int3: Int8Array;
  /** −8 to 7. */
  int4: Int8Array;
  /** −16 to 15. */
  int5: Int8Array;
  /** −32 to 31. */
  int6: Int8Array;
  /** −64 to 63. */
  int7: Int8Array;
  /** −128 to 127. */
  int8: Int8Array;
  /** 0 to 1. */
  uint1: Uint8Array;
  /** 0 to 3. */
  uint2: Uint8Array;
  /** 0 to 7. */
  uint3: Uint8Array;
  /** 0 to 15. */
  uint4: Uint8Array;
  /** 0 to 31. */
  uint5: Uint8Array;
  /** 0 to 63. */
  uint6: Uint8Array;
  /** 0 to 127. */
  uint7: Uint8Array;
  /** 0 to 255. */
  uint8: Uint8Array;
  /** −32768 to 32767. */
  int16: Int16Array;
  /** 0 to 65535. */
  uint16: Uint16Array;
  /** −2³¹ to 2³¹ − 1. */
  int32: Int32Array;
}

/**
 * An integer type that values can be quantized to. `fakeQuantizePerTensor` and `fakeQuantizePerChannel` take
 * any range of codes.
 */
// Extract makes editors and the compiler's messages say DType, and show its names, not "keyof …".
export type DType = Extract<keyof CodesByDType, string>;

/**
 * The array that holds codes of a dtype.
 * @example const codes: Codes<"uint4"> = new Uint8Array([0, 15]);
 */
export type Codes<D extends DType = DType> = CodesByDType[D];

/** The array that holds the codes of each of PyTorch's quantized dtypes. */
export interface CodesByQDType {
  /** −128 to 127. */
  qint8: Int8Array;
  /** 0 to 255. */
  quint8: Uint8Array;
  /** −2³¹ to 2³¹ − 1. */
  qint32: Int32Array;
}

/** A quantized dtype of PyTorch. */
export type QDType = Extract<keyof CodesByQDType, string>;

/** The array that holds codes of a dtype, PyTorch's too. */
export type CodesOf<D extends DType | QDType> = (CodesByDType & CodesByQDType)[D];

/** The smallest and the largest code. */
export interface Limits {
  readonly qmin: number;
  readonly qmax: number;
}

/** The limits and width of a dtype, and the type of array that holds its codes. */
export interface DTypeInfo extends Limits {
  /** Bits of a packed code. */
  readonly bits: number;
  /** The name of the array type that holds the codes. */
  readonly arrayName: "Int8Array" | "Uint8Array" | "Int16Array" | "Uint16Array" | "Int32Array";
  /** Bytes of one element of that array. */
  readonly elementBytes: number;
}

function integer(signed: boolean, bits: number): DTypeInfo {
  const elementBytes = Math.ceil(bits / 8);
  const arrayName = `${signed ? "Int" : "Uint"}${8 * elementBytes}Array`;
  return {
    qmin: signed ? -(2 ** (bits - 1)) : 0,
    qmax: 2 ** (signed ? bits - 1 : bits) - 1,
    bits,
    arrayName: arrayName as DTypeInfo["arrayName"],
    elementBytes,
  };
}

/** PyTorch's quantized dtypes by name. */
export const QDTYPE_NAMES: readonly QDType[] = ["qint8", "quint8", "qint32"];

/** Source: torch.iinfo for 8 bits and more, PyTorch's quantized dtypes too; two's complement for fewer. */
export const DTYPES: { readonly [D in DType | QDType]: DTypeInfo } = {
  int2: /* @__PURE__ */ integer(true, 2),
  int3: /* @__PURE__ */ integer(true, 3),
  int4: /* @__PURE__ */ integer(true, 4),
  int5: /* @__PURE__ */ integer(true, 5),
  int6: /* @__PURE__ */ integer(true, 6),
  int7: /* @__PURE__ */ integer(true, 7),
  int8: /* @__PURE__ */ integer(true, 8),
  uint1: /* @__PURE__ */ integer(false, 1),
  uint2: /* @__PURE__ */ integer(false, 2),
  uint3: /* @__PURE__ */ integer(false, 3),
  uint4: /* @__PURE__ */ integer(false, 4),
  uint5: /* @__PURE__ */ integer(false, 5),
  uint6: /* @__PURE__ */ integer(false, 6),
  uint7: /* @__PURE__ */ integer(false, 7),
  uint8: /* @__PURE__ */ integer(false, 8),
  int16: /* @__PURE__ */ integer(true, 16),
  uint16: /* @__PURE__ */ integer(false, 16),
  int32: /* @__PURE__ */ integer(true, 32),
  qint8: /* @__PURE__ */ integer(true, 8),
  quint8: /* @__PURE__ */ integer(false, 8),
  qint32: /* @__PURE__ */ integer(true, 32),
};
