// A WebAssembly binary as text, which compresses better than the binary itself: what looks alike stands
// together, instructions in one place, and the numbers of locals, constants, offsets in theirs.
//
// A text is the number of bytes and then the streams. A stream is a dictionary of words, and then the
// words, in order. A word is bytes and, where other streams go on, their letters: an instruction that
// reads a local is the byte 20 and the letter of LOCAL, whose next word is the local's number. So what
// reads a text (src/text/decoder.cpp) goes through the words of MAIN, and knows nothing of the format.
//
//   dictionary   words with a space between them, the most frequent ones first: two hexadecimal digits
//                for a byte, a letter from "g" on for the stream of that number
//   words        one character for each of the first ones, two for each of the others (toCharacters)
//
// Only words of MAIN name other streams than RAW, whose words are single bytes.

import { Failure } from "./run.mjs";

/** The streams, by their letters. */
const [MAIN, RAW, LOCAL, OFFSET, CONSTANT, LABEL, CALL, WIDE] = "ghijklmn";

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

/** A function's size and locals. */
function takeHeader(reader) {
  const piece = new Piece();
  const size = reader.takeNumber();
  const end = reader.at + unsignedOf(size);
  const groups = reader.takeNumber();
  piece.raw(size + groups);
  for (let i = 0; i < unsignedOf(groups); i++) piece.raw(reader.takeNumber() + reader.take(1));
  return { piece, end };
}

const CODE_SECTION = "0a";

function* piecesOf(binary) {
  const reader = new Reader(binary);
  function* raw(digits) {
    for (const byte of bytesOf(digits)) {
      const piece = new Piece();
      piece.raw(byte);
      yield piece;
    }
  }
  yield* raw(reader.take(8));
  while (reader.at < binary.length) {
    const id = reader.take(1);
    const size = reader.takeNumber();
    yield* raw(id + size);
    if (id !== CODE_SECTION) {
      yield* raw(reader.take(unsignedOf(size)));
      continue;
    }
    const count = reader.takeNumber();
    yield* raw(count);
    for (let i = 0; i < unsignedOf(count); i++) {
      const { piece, end } = takeHeader(reader);
      yield piece;
      while (reader.at < end) yield takeInstruction(reader);
      if (reader.at > end) throw new Failure(`the binary's function ${i} is not understood`);
    }
  }
}

/**
 * The binary without the hints on alignment, which engines have no use for, and which make one
 * instruction several words.
 */
export function withoutHints(binary) {
  const digits = [...piecesOf(binary)].map(({ word, operands }) => {
    let next = 0;
    return word.replace(/[g-n]/g, () => operands[next++].digits);
  });
  return Buffer.from(digits.join(""), "hex");
}

// ---- Words as text

function countEach(list) {
  const counts = new Map();
  for (const item of list) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

/** The words of each stream that a binary has, in order. */
function streamsOf(binary) {
  const pieces = [...piecesOf(binary)];
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
      if (stream !== RAW && counts.get(keyOf(operand)) >= FREQUENT) {
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
 * Words as characters. The first characters of the alphabet begin a pair, as few of them as the
 * dictionary's length asks for; each of the others is a word.
 */
function toCharacters(words, dictionary) {
  const size = ALPHABET.length;
  const prefixes = Math.max(0, Math.ceil((dictionary.length - size) / (size - 1)));
  if (prefixes >= size)
    throw new Failure("a dictionary has more words than there are characters for");
  const singles = size - prefixes;
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
  return words.map((word) => characters.get(word)).join("");
}

/** @returns how many bytes there are, and for each stream its dictionary and its words */
export function toText(binary) {
  const texts = streamsOf(binary).flatMap((words) => {
    const counts = countEach(words);
    const dictionary = [...counts.keys()].sort(
      (a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1),
    );
    return [dictionary.join(" "), toCharacters(words, dictionary)];
  });
  return [String(binary.length), ...texts];
}
