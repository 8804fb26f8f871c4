// A WebAssembly binary as text, which compresses better than the binary itself: what looks alike stands
// together, instructions in one place, and the numbers of locals, constants, offsets in theirs.
//
// A text is the number of bytes and then the streams. A stream is a dictionary of words, and then the
// words, in order. A word is bytes and, where other streams go on, their letters: an instruction that
// reads a local is the byte 20 and the letter of LOCAL, whose next word is the local's number. So what
// reads a text (src/text/decoder.cpp) goes through the words of MAIN, and knows nothing of the format.
//
//   dictionary   words with a space between them: two hexadecimal digits for a byte, a letter from "g" on
//                for the stream of that number
//   words        one character for each of the most frequent ones, which come first in the dictionary, two
//                for each of the others (toStrings)
//
// Only words of MAIN name other streams than RAW, whose words are single bytes.
//
// A local is not written as its number but as how many others were used since it was last, which is the
// same wherever code is alike: move-to-front, Bentley et al., "A locally adaptive data compression
// scheme", 1986. The sizes of functions are not written at all. For both, two more letters of MAIN say
// where a function begins and where it ends.

import { Failure } from "./run.mjs";

/** The streams, by their letters. */
const [MAIN, RAW, LOCAL, OFFSET, CONSTANT, LABEL, CALL, WIDE] = "ghijklmn";

/** What begins a function: in RAW are the number of its parameters, then its locals as in a binary. */
const BEGIN = "o";
const END = "p";

/**
 * A word of LOCAL below this number says of which group a local is that was not used before: the group's
 * next one. Other words are this number more than a local's place among those used before, the last one
 * first; parameters count as used.
 */
const FIRST_PLACE = 8;
/** A group of locals of a type has so many at most: a number of one byte. */
const MOST_OF_A_GROUP = 127;

/** A word of another stream than RAW that occurs less often is cheaper byte by byte. */
const FREQUENT = 3;

const bytesOf = (digits) => digits.match(/../g) ?? [];

// ---- The binary as words of MAIN, and what other streams have for each

/** Takes a binary to pieces, each as its hexadecimal digits. */
class Reader {
  constructor(binary) {
    this.binary = binary;
    this.at = 0;
  }

  take(count) {
    const end = this.at + count;
    if (end > this.binary.length) throw new Failure("the binary ends in the middle of something");
    const digits = this.binary.toString("hex", this.at, end);
    this.at = end;
    return digits;
  }

  /** A number of as many bytes as it needs. */
  takeNumber() {
    let length = 1;
    while (this.binary[this.at + length - 1] & 0x80) length++;
    return this.take(length);
  }
}

/** What an unsigned number says. */
const unsignedOf = (number) =>
  bytesOf(number).reduceRight((sum, byte) => sum * 128 + (Number.parseInt(byte, 16) & 0x7f), 0);

/** Something of a binary: a word of MAIN, and the digits for the streams it names, in their order. */
class Piece {
  word = "";
  operands = [];

  /** Adds digits that are part of the word. */
  own(digits) {
    this.word += digits;
  }

  /** Adds digits that are a word of another stream. */
  other(stream, digits) {
    this.word += stream;
    this.operands.push({ stream, digits });
  }

  /** Adds digits byte by byte. */
  raw(digits) {
    for (const byte of bytesOf(digits)) this.other(RAW, byte);
  }
}

/** What follows the opcode of an instruction of a SIMD proposal. */
function vectorOperands(piece, reader, opcode) {
  const isLane = opcode >= 84 && opcode <= 91;
  if (opcode <= 11 || isLane || opcode === 92 || opcode === 93) address(piece, reader);
  if (opcode === 12 || opcode === 13) piece.other(WIDE, reader.take(16));
  if (isLane || (opcode >= 21 && opcode <= 34)) piece.own(reader.take(1));
}

const NO_ALIGNMENT = "00";

/** Alignment, which is a hint unless an instruction is atomic, and offset. */
function address(piece, reader, isAtomic = false) {
  const alignment = reader.takeNumber();
  piece.own(isAtomic ? alignment : NO_ALIGNMENT);
  piece.other(OFFSET, reader.takeNumber());
}

/** So many indices of anything. */
function indices(piece, reader, count) {
  for (let i = 0; i < count; i++) piece.own(reader.takeNumber());
}

/** One instruction. Source: the binary format of the WebAssembly specification, section 5.4. */
function takeInstruction(reader) {
  const piece = new Piece();
  const first = reader.take(1);
  piece.own(first);
  const opcode = Number.parseInt(first, 16);
  const is = (from, to = from) => opcode >= from && opcode <= to;

  if (is(0xfc, 0xfe)) {
    const second = reader.takeNumber();
    piece.own(second);
    const extended = unsignedOf(second);
    if (is(0xfd)) vectorOperands(piece, reader, extended);
    else if (is(0xfe) && extended !== 3) address(piece, reader, true);
    else if (is(0xfe)) piece.own(reader.take(1));
    // Conversions have no operands, what copies between two of a kind has two.
    else if (extended >= 8) indices(piece, reader, [8, 10, 12, 14].includes(extended) ? 2 : 1);
  } else if (is(0x0c, 0x0d)) {
    piece.other(LABEL, reader.takeNumber());
  } else if (is(0x0e)) {
    const count = reader.takeNumber();
    piece.raw(count);
    for (let i = 0; i <= unsignedOf(count); i++) piece.other(LABEL, reader.takeNumber());
  } else if (is(0x10)) {
    piece.other(CALL, reader.takeNumber());
  } else if (is(0x11)) {
    piece.raw(reader.takeNumber());
    piece.own(reader.takeNumber());
  } else if (is(0x1c)) {
    const count = reader.takeNumber();
    piece.own(count + reader.take(unsignedOf(count)));
  } else if (is(0x20, 0x22)) {
    piece.other(LOCAL, reader.takeNumber());
  } else if (is(0x28, 0x3e)) {
    address(piece, reader);
  } else if (is(0x41, 0x42)) {
    piece.other(CONSTANT, reader.takeNumber());
  } else if (is(0x43, 0x44)) {
    piece.other(WIDE, reader.take(is(0x43) ? 4 : 8));
  } else if (is(0x02, 0x04) || is(0x23, 0x26) || is(0x3f, 0x40) || is(0xd0) || is(0xd2)) {
    indices(piece, reader, 1);
  }
  return piece;
}

const TYPE_SECTION = "01";
const FUNCTION_SECTION = "03";
const CODE_SECTION = "0a";

/** An unsigned number as WebAssembly writes it. */
export function leb128(number) {
  const bytes = [];
  for (let rest = number; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}

const numberDigits = (number) => Buffer.from(leb128(number)).toString("hex");

/** Reads a list: how many there are, and each of them. */
const takeList = (reader, take) => Array.from({ length: unsignedOf(reader.takeNumber()) }, take);

/** How many parameters a function type has. */
function takeType(reader) {
  if (reader.take(1) !== "60") throw new Failure("a type of the binary is not understood");
  const takeValues = () => takeList(reader, () => reader.take(1)).length;
  const parameters = takeValues();
  takeValues(); // results
  return parameters;
}

/** @returns `{ parameters, locals, pieces }`: how many, `{ count, type }` by type, the instructions */
function takeFunction(reader, parameters) {
  const end = unsignedOf(reader.takeNumber()) + reader.at;
  const locals = takeList(reader, () => ({
    count: unsignedOf(reader.takeNumber()),
    type: reader.take(1),
  }));
  const pieces = [];
  while (reader.at < end) pieces.push(takeInstruction(reader));
  if (reader.at > end) throw new Failure("a function of the binary is not understood");
  return { parameters, locals, pieces };
}

/** @returns `{ head, functions, tail }`: the digits before and behind the code, and its functions */
function takeApart(binary) {
  const reader = new Reader(binary);
  let head = reader.take(8);
  let types = [];
  let typesOf = [];
  while (reader.at < binary.length) {
    const id = reader.take(1);
    const size = reader.takeNumber();
    const start = reader.at;
    if (id === CODE_SECTION) {
      const functions = takeList(reader, (_, i) => takeFunction(reader, types[typesOf[i]]));
      return { head, functions, tail: reader.take(binary.length - reader.at) };
    }
    if (id === TYPE_SECTION) types = takeList(reader, () => takeType(reader));
    if (id === FUNCTION_SECTION) typesOf = takeList(reader, () => unsignedOf(reader.takeNumber()));
    reader.at = start;
    head += id + size + reader.take(unsignedOf(size));
  }
  throw new Failure("the binary has no code");
}

/** The digits of locals as a function declares them. */
const declarationOf = (locals) =>
  numberDigits(locals.length) +
  locals.map(({ count, type }) => numberDigits(count) + type).join("");

/** The digits of an instruction. */
function instructionOf({ word, operands }) {
  let next = 0;
  return word.replace(/[g-n]/g, () => operands[next++].digits);
}

/** The digits of a function. */
function bodyOf({ locals, pieces }) {
  const digits = declarationOf(locals) + pieces.map(instructionOf).join("");
  return numberDigits(digits.length / 2) + digits;
}

/** What stands before the functions: the section's id and size, and how many there are. */
function codeHeader(functions) {
  const count = numberDigits(functions.length);
  const size = functions.reduce((sum, one) => sum + bodyOf(one).length, count.length) / 2;
  return CODE_SECTION + numberDigits(size) + count;
}

/** An instruction with the digits that `change` makes of the number of each local it names. */
const withLocals = ({ word, operands }, change) => ({
  word,
  operands: operands.map((operand) =>
    operand.stream === LOCAL
      ? { stream: LOCAL, digits: change(unsignedOf(operand.digits)) }
      : operand,
  ),
});

/** So many locals of a type as groups, the first ones as large as can be. */
const inGroups = (count, type) =>
  count <= MOST_OF_A_GROUP
    ? [{ count, type }]
    : [{ count: MOST_OF_A_GROUP, type }, ...inGroups(count - MOST_OF_A_GROUP, type)];

/** The function with its locals in the order in which it uses them, those of a type together. */
function inOrderOfUse({ parameters, locals, pieces }) {
  const types = locals.flatMap(({ count, type }) => Array(count).fill(type));
  const used = new Set(
    pieces.flatMap(({ operands }) =>
      operands.filter(({ stream }) => stream === LOCAL).map(({ digits }) => unsignedOf(digits)),
    ),
  );
  // Those that nothing uses come last: a set keeps the order in which it was filled.
  for (const i of types.keys()) used.add(parameters + i);
  const all = [...used].filter((local) => local >= parameters);
  const typeOf = (local) => types[local - parameters];
  const groups = [...new Set(types)].map((type) => all.filter((local) => typeOf(local) === type));
  const numbers = new Map(groups.flat().map((local, i) => [local, parameters + i]));
  return {
    parameters,
    locals: groups.flatMap((group) => inGroups(group.length, typeOf(group[0]))),
    pieces: pieces.map((piece) =>
      withLocals(piece, (local) => numberDigits(numbers.get(local) ?? local)),
    ),
  };
}

/**
 * The binary without what makes alike code different: hints on alignment, which engines have no use
 * for (takeInstruction drops them), and the numbers that the linker happened to give locals.
 */
export function normalized(binary) {
  const { head, functions, tail } = takeApart(binary);
  const ordered = functions.map(inOrderOfUse);
  const bodies = ordered.map(bodyOf).join("");
  return Buffer.from(head + codeHeader(ordered) + bodies + tail, "hex");
}

// ---- Words as text

function countEach(list) {
  const counts = new Map();
  for (const item of list) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

/** Digits that stand byte by byte in RAW, one word of MAIN for each. */
const rawPieces = (digits) => {
  const piece = new Piece();
  piece.raw(digits);
  return piece.operands.map((operand) => ({ word: RAW, operands: [operand] }));
};

/** The pieces of a function, its locals as words of LOCAL. */
function functionPieces({ parameters, locals, pieces }) {
  const begin = new Piece();
  begin.raw(numberDigits(parameters) + declarationOf(locals));
  const starts = locals.map((_, i) =>
    locals.slice(0, i).reduce((sum, { count }) => sum + count, parameters),
  );
  const recent = Array.from({ length: parameters }, (_, local) => local);
  const wordOf = (local) => {
    const place = recent.indexOf(local);
    if (place >= 0) recent.splice(place, 1);
    recent.unshift(local);
    if (place >= 0) return FIRST_PLACE + place;
    const type = starts.indexOf(local);
    if (type < 0) throw new Failure("the binary's locals are not in the order of their use");
    starts[type]++;
    return type;
  };
  const counts = [parameters, ...locals.map(({ count }) => count)];
  if (locals.length > FIRST_PLACE || counts.some((count) => count > MOST_OF_A_GROUP)) {
    throw new Failure("a function of the binary has more locals than can be told apart");
  }
  return [
    { word: BEGIN, operands: begin.operands },
    ...pieces.map((piece) => withLocals(piece, (local) => numberDigits(wordOf(local)))),
  ];
}

/** What a binary that was normalized is made of, in order. */
function piecesOf(binary) {
  const { head, functions, tail } = takeApart(binary);
  const code = functions.map(functionPieces);
  // One word ends a function and begins the next.
  for (const [begin] of code.slice(1)) begin.word = END + BEGIN;
  return [
    ...rawPieces(head + codeHeader(functions)),
    ...code.flat(),
    { word: END, operands: [] },
    ...rawPieces(tail),
  ];
}

/** The words of each stream that a binary has, in order. */
function streamsOf(binary) {
  const pieces = piecesOf(binary);
  const keyOf = ({ stream, digits }) => stream + digits;
  const counts = countEach(pieces.flatMap(({ operands }) => operands.map(keyOf)));
  const streams = new Map(
    Array.from([MAIN, RAW, LOCAL, OFFSET, CONSTANT, LABEL, CALL, WIDE], (stream) => [stream, []]),
  );
  for (const { word, operands } of pieces) {
    streams.get(MAIN).push(word);
    for (const operand of operands) {
      const { stream, digits } = operand;
      const bytes = bytesOf(digits);
      if (stream === LOCAL || (stream !== RAW && counts.get(keyOf(operand)) >= FREQUENT)) {
        streams.get(stream).push(digits);
        continue;
      }
      if (stream !== RAW) streams.get(stream).push(RAW.repeat(bytes.length));
      streams.get(RAW).push(...bytes);
    }
  }
  return [...streams.values()];
}

/** Printable ASCII that stands for itself in a string between double quotes, and in any charset. */
const ALPHABET = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))
  .filter((character) => !['"', "\\"].includes(character))
  .join("");

/**
 * The dictionary of words, and the words as characters. The first characters of the alphabet begin a
 * pair, as few of them as there have to be; each of the others is one of the most frequent words.
 */
function toStrings(words) {
  const counts = countEach(words);
  const byCount = [...counts.keys()].sort(
    (a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1),
  );
  const size = ALPHABET.length;
  const prefixes = Math.max(0, Math.ceil((byCount.length - size) / (size - 1)));
  if (prefixes >= size)
    throw new Failure("a dictionary has more words than there are characters for");
  const singles = size - prefixes;
  // A dictionary compresses better where words that begin alike are neighbours.
  const dictionary = [byCount.slice(0, singles), byCount.slice(singles)].flatMap((w) => w.sort());
  const characters = new Map(
    dictionary.map((word, i) => {
      const pair = i - singles;
      return [
        word,
        pair < 0
          ? ALPHABET[prefixes + i]
          : ALPHABET[Math.floor(pair / size)] + ALPHABET[pair % size],
      ];
    }),
  );
  return [dictionary.join(" "), words.map((word) => characters.get(word)).join("")];
}

/** @returns how many bytes there are, and for each stream its dictionary and its words */
export function toText(binary) {
  return [String(binary.length), ...streamsOf(binary).flatMap(toStrings)];
}
