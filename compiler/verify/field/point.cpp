#include "compiler/verify/field/point.h"

#include "lang/core/semantics/semantics.h"

#include <llvm/Support/SHA256.h>

#include <cstring>

namespace tg {

namespace {

/// Returns 1 / p modulo 2^64 for odd p, by Newton's iteration, which doubles the number of
/// correct bits.
constexpr uint64_t inverse_of(uint64_t p) {
  uint64_t x = p; // three correct bits
  for (int bits = 3; bits < 64; bits *= 2) x *= 2 - p * x;
  return x;
}

constexpr uint64_t modulo(WideProduct x, uint64_t p) { return static_cast<uint64_t>(x % p); }

constexpr void set_prime(FieldPoint& point, int lane, uint64_t p) {
  point.prime[lane] = p;
  point.inverse[lane] = inverse_of(p);
  point.one[lane] = modulo(static_cast<WideProduct>(1) << 64, p);
  point.square[lane] = modulo(static_cast<WideProduct>(point.one[lane]) * point.one[lane], p);
}

constexpr FieldPoint default_point() {
  FieldPoint point;
  uint64_t below = uint64_t{1} << kPrimeBits; // the four largest primes of the family
  set_prime(point, 0, below - 129);
  set_prime(point, 1, below - 139);
  set_prime(point, 2, below - 165);
  set_prime(point, 3, below - 231);
  point.key[0] = 0x452821e638d01377, point.key[1] = 0xbe5466cf34e90c6c; // digits of pi
  return point;
}

/// Returns true if n passes the Miller-Rabin test for the base (Miller 1976, Rabin 1980), where
/// n - 1 = odd * 2^twos. `one` is 1 in Montgomery form.
bool may_be_prime(const FieldPoint& point, uint64_t base, uint64_t odd, int twos) {
  auto times = [&](uint64_t a, uint64_t b) {
    return point.reduced(static_cast<WideProduct>(a) * b, 0);
  };
  uint64_t n = point.prime[0], one = point.one[0], minus_one = n - one;
  uint64_t x = one, power = times(base, point.square[0]);
  for (uint64_t e = odd; e; e >>= 1, power = times(power, power))
    if (e & 1) x = times(x, power);
  if (x == one || x == minus_one) return true;
  for (int i = 1; i < twos; ++i)
    if ((x = times(x, x)) == minus_one) return true;
  return false;
}

constexpr uint64_t kSmallPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
constexpr size_t kBases = 9; // the first of them decide below 3.8 * 10^18

} // namespace

constinit thread_local FieldPoint field_point = default_point();

bool is_prime(uint64_t n) {
  for (uint64_t p : kSmallPrimes)
    if (n % p == 0) return n == p;
  if (n < 53 * 53) return n > 1;
  FieldPoint point;
  set_prime(point, 0, n);
  int twos = __builtin_ctzll(n - 1);
  for (size_t i = 0; i < kBases; ++i)
    if (!may_be_prime(point, kSmallPrimes[i], (n - 1) >> twos, twos)) return false;
  return true;
}

Digest digest_of(llvm::ArrayRef<llvm::StringRef> parts) {
  llvm::SHA256 sha;
  for (llvm::StringRef part : parts) {
    uint64_t size = part.size(); // separates the parts
    sha.update(llvm::StringRef(reinterpret_cast<const char*>(&size), sizeof size));
    sha.update(part);
  }
  llvm::StringRef bytes = sha.final();
  Digest digest;
  std::memcpy(digest.data(), bytes.data(), sizeof digest);
  return digest;
}

FieldPoint draw_point(const Digest& digest, uint64_t number, uint64_t attempt) {
  uint64_t counters[] = {number, attempt};
  auto text = [](const auto& words) {
    return llvm::StringRef(reinterpret_cast<const char*>(&words), sizeof words);
  };
  Digest own = digest_of({text(digest), text(counters)});
  FieldPoint point;
  uint64_t drawn = 0;
  for (int lane = 0; lane < kFieldLanes; ++lane) {
    uint64_t p = 0;
    do { // odd, with the highest bit set: uniform among the primes
      uint64_t bits = scramble(own[0] ^ scramble(own[1] + ++drawn));
      p = uint64_t{1} << (kPrimeBits - 1) | bits >> (64 - kPrimeBits + 1) | 1;
    } while (!is_prime(p));
    set_prime(point, lane, p);
  }
  point.key[0] = own[2], point.key[1] = own[3];
  return point;
}

} // namespace tg
