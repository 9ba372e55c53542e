// Blocks are hashed by NH of UMAC (Black, Halevi, Krawczyk, Krovetz, Rogaway 1999)
// with 64-bit words: two different blocks have the same 128-bit sum with a probability of 2^-64.
// The sums of all blocks are the coefficients of a polynomial modulo 2^61 - 1,
// evaluated at two random points: different polynomials of degree d agree at both
// with a probability of (d / 2^61)^2.
#include "runtime/content_name.h"

#include <llvm/ADT/StringExtras.h>

#include <array>
#include <cstring>
#include <random>

namespace tg {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr size_t kBlockWords = 128; // words per block
constexpr size_t kBlockBytes = kBlockWords * sizeof(uint64_t);
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

struct Keys {
  std::array<uint64_t, kBlockWords> words;
  std::array<uint64_t, 2> points; // below the prime
};

Keys draw_keys() {
  std::random_device device;
  auto draw = [&] { return uint64_t{device()} << 32 | device(); };
  Keys keys{};
  for (uint64_t& word : keys.words) word = draw();
  for (uint64_t& point : keys.points) point = draw() % kPrime;
  return keys;
}

uint64_t times_plus(uint64_t a, uint64_t b, uint64_t c) {
  Wide product = Wide{a} * b + c;
  auto low = static_cast<uint64_t>(product) & kPrime, high = static_cast<uint64_t>(product >> 61);
  uint64_t sum = low + high;
  return sum >= kPrime ? sum - kPrime : sum;
}

Wide sum_of_block(const char* block, const Keys& keys) {
  std::array<uint64_t, kBlockWords> words;
  std::memcpy(words.data(), block, kBlockBytes);
  Wide sum = 0;
  for (size_t i = 0; i < kBlockWords; i += 2)
    sum += Wide{words[i] + keys.words[i]} * (words[i + 1] + keys.words[i + 1]);
  return sum;
}

} // namespace

std::string content_name(llvm::StringRef bytes) {
  static const Keys keys = draw_keys();
  std::array<uint64_t, 2> values = {0, 0};
  auto add = [&](Wide sum) {
    for (size_t i = 0; i < values.size(); ++i)
      for (int shift = 0; shift < 128; shift += 32) // coefficients are below the prime
        values[i] = times_plus(values[i], keys.points[i], static_cast<uint32_t>(sum >> shift));
  };
  size_t whole = bytes.size() / kBlockBytes * kBlockBytes;
  for (size_t at = 0; at < whole; at += kBlockBytes) add(sum_of_block(bytes.data() + at, keys));
  if (whole < bytes.size()) {
    std::array<char, kBlockBytes> last = {}; // unambiguous: the length is hashed too
    std::memcpy(last.data(), bytes.data() + whole, bytes.size() - whole);
    add(sum_of_block(last.data(), keys));
  }
  return std::to_string(bytes.size()) + ":" + llvm::utohexstr(values[0]) + ":" +
         llvm::utohexstr(values[1]);
}

} // namespace tg
