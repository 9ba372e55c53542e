// Contents that several executables of one backend only read: weights as they came, or as they were
// packed. Graphs that are loaded beside each other on the same weights, as a source and what a
// search found, would hold a large network twice, and making and packing it takes longer than many
// runs.
//
// Invariant: contents are never written once they are here, and last as long as an executable holds
// them.
#pragma once

#include <llvm/ADT/StringMap.h>

#include <cstddef>
#include <memory>

namespace tg {

/// For executables made with the same CompileOptions but for this, one after the other.
class SharedWeights {
public:
  using Contents = std::shared_ptr<std::byte>;

  /// What was made in the way that `key` says; null: nothing that still is.
  Contents find(llvm::StringRef key) const { return made_.lookup(key).lock(); }
  void add(llvm::StringRef key, const Contents& contents) { made_[key] = contents; }

private:
  llvm::StringMap<std::weak_ptr<std::byte>> made_;
};

} // namespace tg
