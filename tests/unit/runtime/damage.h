// Damages the bytes of a valid file, for tests that readers then report an error
// and nothing worse. The damage is a deterministic function of the round.
#pragma once

#include "lang/core/support/random.h"

#include <llvm/ADT/StringRef.h>

namespace tg::test {

/// Makes one to four changes: replaces a byte, flips a bit, removes bytes,
/// inserts a character of `alphabet`, or truncates the end.
inline std::string damaged(std::string bytes, uint64_t round, llvm::StringRef alphabet) {
  RandomStream random(round, "damage");
  uint64_t next = 0;
  for (uint64_t changes = 1 + random.bits(next++) % 4; changes > 0 && !bytes.empty(); --changes) {
    size_t place = random.bits(next++) % bytes.size();
    uint64_t with = random.bits(next++);
    switch (random.bits(next++) % 5) {
    case 0: bytes[place] = static_cast<char>(with); break;
    case 1: bytes[place] = static_cast<char>(bytes[place] ^ 1 << with % 8); break;
    case 2: bytes.erase(place, 1 + with % 8); break;
    case 3: bytes.insert(place, 1, alphabet[with % alphabet.size()]); break;
    default: bytes.resize(place + 1);
    }
  }
  return bytes;
}

} // namespace tg::test
