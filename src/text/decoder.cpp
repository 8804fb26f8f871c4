// The text that scripts/wasm-text.mjs made of a binary, back to the binary. This is a module of its
// own, without a runtime, that src/js/text.ts starts before there is a core: engines compile it
// at once, while JavaScript would be interpreted for most of such a short time, which takes ten
// times as long.
#include <cstddef>
#include <cstdint>

namespace {

using Byte = std::uint8_t;
using Char = unsigned char;

constexpr std::size_t kStreams = 8;
constexpr std::size_t kCodes = 128;  // of characters

// The parts of all words, each word its length first. A part is a byte, or kStream and the number
// of the stream in which the word goes on, or of what is to be done. At 0 there is none.
constexpr std::uint16_t kStream = 256;
constexpr std::size_t kRaw = kStream + 1;
constexpr std::size_t kLocal = kStream + 2;
constexpr std::size_t kBegin = kStream + kStreams;
constexpr std::size_t kEnd = kBegin + 1;
std::uint16_t words[std::size_t{1} << 15];
std::size_t words_end = 1;

struct Stream {
  const Char* at;  // what is to be read next
  // Where the word of a character begins, or 0 if the next character belongs to it; then, from
  // kCodes times the code of the first one on, by the code of the second.
  std::uint16_t starts[kCodes * kCodes];
};

Stream streams[kStreams];

// Where the next word of a stream begins.
[[gnu::noinline]] std::size_t next_word(std::size_t number) {
  Stream& stream = streams[number];
  const std::size_t first = *stream.at++;
  const std::size_t start = stream.starts[first];
  return start != 0 ? start : stream.starts[kCodes * first + *stream.at++];
}

// The characters of texts in their order: printable ones but for '"' and '\'.
constexpr int kCharacters = 93;
int character(int i) {
  const int code = ' ' + i + (i >= '"' - ' ' ? 1 : 0);
  return code + (code >= '\\' ? 1 : 0);
}

int hex(Char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

// Reads words with a space between them; what comes behind the 0 at their end.
const Char* read_dictionary(const Char* at, Stream& stream) {
  int count = 1;
  for (const Char* c = at; *c != 0; ++c) count += *c == ' ' ? 1 : 0;
  // Characters that begin a pair: with each there are so many words more, less its own.
  const int prefixes =
      count <= kCharacters ? 0 : (count - kCharacters + kCharacters - 2) / (kCharacters - 1);
  for (int i = 0; i < count; ++i) {
    const int pair = i + prefixes - kCharacters;
    const int code = pair < 0 ? character(prefixes + i)
                              : static_cast<int>(kCodes) * character(pair / kCharacters) +
                                    character(pair % kCharacters);
    std::uint16_t& length = words[words_end];
    stream.starts[code] = static_cast<std::uint16_t>(words_end++);
    for (; *at > ' '; ++length) {
      const bool is_stream = *at > 'f';
      words[words_end++] = static_cast<std::uint16_t>(is_stream ? kStream + (*at - 'g')
                                                                : 16 * hex(at[0]) + hex(at[1]));
      at += is_stream ? 1 : 2;
    }
    ++at;
  }
  return at;
}

// The next byte of the raw stream, whose words are bytes.
Byte raw_byte() { return static_cast<Byte>(words[next_word(kRaw - kStream) + 1]); }

// Writes a number as WebAssembly does; what comes behind it.
[[gnu::noinline]] Byte* write_number(std::size_t number, Byte* out) {
  for (; number >= 0x80; number >>= 7) *out++ = static_cast<Byte>(number | 0x80);
  *out++ = static_cast<Byte>(number);
  return out;
}

// A function's size stands before it, in at most so many bytes, and is known behind it.
constexpr std::size_t kMostSize = 5;

// The locals of a function.
constexpr std::size_t kFirstPlace = 8;
constexpr std::size_t kMostOfAGroup = 127;                // and parameters
std::size_t unused[kFirstPlace];                          // of each of its groups, the next one
std::uint16_t recent[(kFirstPlace + 1) * kMostOfAGroup];  // those used, the last one first
std::size_t recent_count;

// Writes the declaration of the locals.
Byte* begin_function(Byte* out) {
  std::size_t local = raw_byte();
  recent_count = local;
  for (std::size_t i = 0; i < local; ++i) recent[i] = static_cast<std::uint16_t>(i);
  const Byte groups = raw_byte();
  *out++ = groups;
  for (std::size_t i = 0; i < groups; ++i) {
    const Byte count = raw_byte();
    *out++ = count;
    *out++ = raw_byte();  // their type
    unused[i] = local;
    local += count;
  }
  return out;
}

// The local that a word of its stream stands for.
std::size_t take_local(std::size_t word) {
  const bool is_first = word < kFirstPlace;
  std::size_t place = is_first ? recent_count++ : word - kFirstPlace;
  const std::size_t local = is_first ? unused[word]++ : recent[place];
  for (; place > 0; --place) recent[place] = recent[place - 1];
  recent[0] = static_cast<std::uint16_t>(local);
  return local;
}

}  // namespace

// @param text  of each of `count` streams its dictionary and its words, each with a 0 at its end
// @param out   where the binary goes. A function is moved back when its size is known, so at least
//              kMostSize bytes come behind the last one
extern "C" void decode(const Char* text, std::size_t count, Byte* out) {
  for (std::size_t i = 0; i < count; ++i) {
    text = read_dictionary(text, streams[i]);
    streams[i].at = text;
    while (*text++ != 0) {
    }
  }
  Byte* body = out;
  while (*streams[0].at != 0) {
    const std::uint16_t* part = words + next_word(0);
    for (std::size_t parts = *part++; parts > 0; --parts) {
      const std::size_t own = *part++;
      if (own < kStream) {
        *out++ = static_cast<Byte>(own);
      } else if (own == kBegin) {
        body = out + kMostSize;
        out = begin_function(body);
      } else if (own == kEnd) {
        const Byte* const end = out;
        out = write_number(static_cast<std::size_t>(end - body), body - kMostSize);
        for (const Byte* from = body; from < end;) *out++ = *from++;
      } else {
        const std::uint16_t* other = words + next_word(own - kStream);
        std::size_t bytes = *other++;
        if (own == kLocal) {
          // At most two bytes, as WebAssembly writes a number.
          const std::size_t low = *other++;
          out = write_number(take_local(bytes == 1 ? low : low - 0x80 + 0x80 * *other), out);
          continue;
        }
        for (; bytes > 0; --bytes) {
          const std::size_t byte = *other++;
          // What is not a byte goes on in the raw stream.
          *out++ = byte < kStream ? static_cast<Byte>(byte) : raw_byte();
        }
      }
    }
  }
}
