// Damage to the bytes of a good file, for tests that no damage does more than give an error: the
// same for all readers of bytes. Deterministic in the round.
#pragma once

#include "lang/core/support/random.h"

#include <llvm/ADT/StringRef.h>

namespace tg::test {

/// One to four changes: a byte replaced, a bit turned, some bytes taken out, a character of
/// `alphabet` put in, or the end cut off.
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
