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
// of the stream in which the word goes on. At 0 there is none.
constexpr std::uint16_t kStream = 256;
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
inline std::size_t next_word(const Stream& stream, const Char*& at) {
  const std::size_t first = *at++;
  const std::size_t start = stream.starts[first];
  return start != 0 ? start : stream.starts[kCodes * first + *at++];
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

}  // namespace

// @param text  of each of `count` streams its dictionary and its words, each with a 0 at its end
// @param out   [size]
extern "C" void decode(const Char* text, std::size_t count, Byte* out, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) {
    text = read_dictionary(text, streams[i]);
    streams[i].at = text;
    while (*text++ != 0) {
    }
  }
  // What is read all the time stays in registers.
  const Char* main = streams[0].at;
  const Char* raw = streams[1].at;
  const Byte* const end = out + size;
  while (out < end) {
    const std::uint16_t* part = words + next_word(streams[0], main);
    for (std::size_t parts = *part++; parts > 0; --parts) {
      const std::size_t own = *part++;
      if (own < kStream) {
        *out++ = static_cast<Byte>(own);
        continue;
      }
      Stream& stream = streams[own - kStream];
      if (own == kStream + 1) {
        *out++ = static_cast<Byte>(words[next_word(stream, raw) + 1]);
        continue;
      }
      const std::uint16_t* other = words + next_word(stream, stream.at);
      for (std::size_t bytes = *other++; bytes > 0; --bytes) {
        std::size_t byte = *other++;
        // What is not a byte goes on in the raw stream, whose words are bytes.
        if (byte >= kStream) byte = words[next_word(streams[1], raw) + 1];
        *out++ = static_cast<Byte>(byte);
      }
    }
  }
}
