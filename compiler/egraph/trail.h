// The undo log of the e-graph. The state consists of a few growing arrays and of single words in
// them that are overwritten. So a change since a checkpoint is the tails of the arrays, the
// overwritten words (with their old values) and the entries added to the hash table.
//
// A word is logged only if its element is older than the latest checkpoint; younger elements are
// dropped with their tails. Undoing swaps logged and current values from last to first. The log
// then contains the values for redoing, from first to last. Both costs are proportional to the
// change, and not to the size of the e-graph.
#pragma once

#include "compiler/egraph/ids.h"

#include <array>
#include <cstddef>
#include <vector>

namespace tg {

/// The arrays of the e-graph whose lengths a checkpoint stores.
enum class Column : uint8_t { Nodes, Edges, Classes, Changes, Unions, Rules, History, Count };
inline constexpr size_t kColumns = static_cast<size_t>(Column::Count);
using Sizes = std::array<uint32_t, kColumns>;

/// The words that are overwritten.
enum class Word : uint8_t {
  NodeState,
  NodeStamp,
  NodeNext,
  NodePrev,
  EdgeChild,
  EdgeNext,
  ClassLeader,
  ClassFirstNode,
  ClassNodeCount,
  ClassFirstEdge,
  ClassEdgeCount,
  ClassFlags,
  RuleSeen,
  Count
};
inline constexpr size_t kWords = static_cast<size_t>(Word::Count);

constexpr Column column_of(Word which) {
  if (which <= Word::NodePrev) return Column::Nodes;
  if (which <= Word::EdgeNext) return Column::Edges;
  if (which <= Word::ClassFlags) return Column::Classes;
  return Column::Rules;
}

struct WordWrite {
  Word which;
  uint32_t index;
  uint32_t value; // before undo: the value to restore; after it: the one to redo
};

struct HashInsert {
  uint32_t hash;
  uint32_t node;
};

/// Counters that are part of the state.
struct Counters {
  uint32_t live_nodes = 0;
  uint32_t live_classes = 0;
  uint32_t filtered_nodes = 0;
  bool operator==(const Counters&) const = default;
};

struct Frame {
  Sizes sizes{};
  size_t words = 0, inserts = 0; // lengths of the logs
  Counters counters;
  uint64_t version = 0;
};

class Trail {
public:
  bool active() const { return !frames_.empty(); }
  /// Elements below this are older than the latest checkpoint.
  uint32_t limit(Column column) const { return limits_[static_cast<size_t>(column)]; }

  void log(Word which, uint32_t index, uint32_t old_value) {
    if (index < limit(column_of(which))) words_.push_back({which, index, old_value});
  }
  void log_insert(uint32_t hash, uint32_t node) {
    if (active()) inserts_.push_back({hash, node});
  }

  void push(Frame frame) {
    frame.words = words_.size();
    frame.inserts = inserts_.size();
    limits_ = frame.sizes;
    frames_.push_back(frame);
  }
  void pop() {
    frames_.pop_back();
    limits_ = frames_.empty() ? Sizes{} : frames_.back().sizes;
    if (frames_.empty()) words_.clear(), inserts_.clear();
  }
  size_t depth() const { return frames_.size(); }
  const Frame& frame(size_t i) const { return frames_[i]; }
  std::vector<WordWrite>& words() { return words_; }
  std::vector<HashInsert>& inserts() { return inserts_; }
  size_t memory_bytes() const {
    return words_.capacity() * sizeof(WordWrite) + inserts_.capacity() * sizeof(HashInsert);
  }

private:
  Sizes limits_{}; // all 0 without a checkpoint, so nothing is logged
  std::vector<Frame> frames_;
  std::vector<WordWrite> words_;
  std::vector<HashInsert> inserts_;
};

} // namespace tg
