#include "compiler/ir/repeats.h"

#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/ADT/StringExtras.h>

#include <map>
#include <optional>

namespace tg {
namespace {

constexpr size_t kMostPeriods = 64;      // most block lengths tried
constexpr size_t kMostWork = 20'000'000; // most operators examined in one region
constexpr size_t kMostArguments = 24, kMostResults = 8;
constexpr size_t kLeastLength = 4, kLeastSaved = 6; // in operators; in operators and weights
constexpr size_t kNowhere = SIZE_MAX;

using Part = RepeatedWeight::Part;

/// Splits a path into alternating text and numbers: "layers." 3 ".w". A number with a leading zero
/// or with many digits is text.
std::vector<std::pair<llvm::StringRef, bool>> words_of(llvm::StringRef path) {
  std::vector<std::pair<llvm::StringRef, bool>> words;
  while (!path.empty()) {
    bool digits = llvm::isDigit(path[0]);
    size_t length = 1;
    while (length < path.size() && llvm::isDigit(path[length]) == digits) ++length;
    words.emplace_back(path.take_front(length), digits);
    path = path.drop_front(length);
  }
  return words;
}

bool is_plain_number(llvm::StringRef digits) {
  return digits.size() <= 15 && (digits.size() == 1 || digits[0] != '0');
}

/// Returns the common path, with numbers that depend on the copy; nullopt if other parts differ.
std::optional<std::vector<Part>> common_path(llvm::ArrayRef<llvm::StringRef> paths) {
  std::vector<std::vector<std::pair<llvm::StringRef, bool>>> words;
  for (llvm::StringRef path : paths) words.push_back(words_of(path));
  std::vector<Part> parts;
  for (size_t at = 0; at < words[0].size(); ++at) {
    bool same = true, numbers = true;
    for (const auto& other : words) {
      if (other.size() != words[0].size()) return std::nullopt;
      same &= other[at] == words[0][at];
      numbers &= other[at].second && is_plain_number(other[at].first);
    }
    if (!same && !numbers) return std::nullopt;
    if (same && !parts.empty() && parts.back().numbers.empty()) {
      parts.back().text += words[0][at].first;
      continue;
    }
    Part& part = parts.emplace_back();
    if (same) part.text = words[0][at].first.str();
    for (size_t k = 0; k < words.size() && !same; ++k)
      words[k][at].first.getAsInteger(10, part.numbers.emplace_back());
  }
  return parts;
}

class Finder {
public:
  Finder(const Graph& graph, llvm::ArrayRef<GraphCall> calls)
      : graph_(graph), place_(graph.size(), kNowhere), call_(graph.size(), nullptr),
        marks_(graph.size()) {
    std::vector<bool> needed = graph.reachable();
    std::vector<NodeId> roots(graph.size()); // by inner node
    for (const GraphCall& call : calls) {
      call_[call.root.index] = &call;
      for (NodeId inner : call.inner) roots[inner.index] = call.root;
    }
    for (uint32_t i = 0; i < graph.size(); ++i) {
      bool written = needed[i] && !roots[i].valid() && !is_leaf({i});
      if (!written) continue;
      place_[i] = line_.size();
      line_.push_back({i});
    }
    readers_.resize(line_.size());
    for (size_t at = 0; at < line_.size(); ++at) {
      tokens_.push_back(token(line_[at]));
      for (NodeId operand : operands(line_[at]))
        if (size_t read = place_[operand.index]; read != kNowhere)
          readers_[read].push_back(at);
        else if (graph.node(operand).op == OpKind::Weight)
          weight_readers_[operand.index].push_back(at);
    }
    is_output_.resize(graph.size());
    for (const GraphOutput& output : graph.outputs()) is_output_[output.node.index] = true;
  }

  std::vector<Repeat> run() {
    struct Found {
      size_t begin, end, score;
      Repeat repeat;
    };
    std::vector<Found> found;
    for (const Region& region : regions())
      if (auto best = best_of(region)) {
        size_t begin = place_[best->second.at.index];
        for (NodeId id : best->second.copies.front()) begin = std::min(begin, place_[id.index]);
        size_t end = place_[best->second.copies.back().back().index] + 1;
        found.push_back({begin, end, best->first, std::move(best->second)});
      }
    llvm::stable_sort(found, [](const Found& a, const Found& b) { return a.score > b.score; });
    std::vector<Found> kept;
    for (Found& one : found)
      if (llvm::none_of(kept,
                        [&](const Found& k) { return one.begin < k.end && k.begin < one.end; }))
        kept.push_back(std::move(one));
    llvm::sort(kept, [](const Found& a, const Found& b) { return a.begin < b.begin; });
    std::vector<Repeat> repeats;
    for (Found& one : kept) repeats.push_back(std::move(one.repeat));
    return repeats;
  }

private:
  /// Operators begin .. begin + length + period; the first `length` of them each equal the one a
  /// period later.
  struct Region {
    size_t begin, period, length;
  };

  bool is_leaf(NodeId id) const {
    OpKind op = graph_.node(id).op;
    return op == OpKind::None || op_info(op).has(Trait::Leaf);
  }

  llvm::ArrayRef<NodeId> operands(NodeId id) const {
    return call_[id.index] ? llvm::ArrayRef<NodeId>(call_[id.index]->operands)
                           : graph_.operands(id);
  }

  /// Hash of an operator without its operands, which must be equal at the same place of all copies.
  size_t token(NodeId id) const {
    const Node& node = graph_.node(id);
    llvm::hash_code hash =
        llvm::hash_combine(static_cast<int>(node.op), node.attrs.index, node.type.index);
    if (const GraphCall* call = call_[id.index])
      hash = llvm::hash_combine(call->function, call->attributes, node.type.index);
    for (NodeId operand : operands(id)) {
      OpKind op = graph_.node(operand).op;
      bool fixed = op == OpKind::Constant || op == OpKind::None;
      int init = op == OpKind::Weight ? static_cast<int>(graph_.attrs(operand)[2].index) : -1;
      hash = llvm::hash_combine(hash, graph_.node(operand).type.index, init,
                                fixed ? operand.index : UINT32_MAX);
    }
    return hash;
  }

  // --- regions ----------------------------------------------------------------------------------

  /// Returns the distances at which runs of operators recur, the most frequent first.
  std::vector<size_t> periods() const {
    std::map<size_t, size_t> counts;
    for (size_t width : {2, 4, 8, 16}) {
      llvm::DenseMap<uint64_t, size_t> last;
      for (size_t at = 0; at + width <= tokens_.size(); ++at) {
        uint64_t gram =
            llvm::hash_combine_range(tokens_.begin() + static_cast<std::ptrdiff_t>(at),
                                     tokens_.begin() + static_cast<std::ptrdiff_t>(at + width));
        gram >>= 1; // the largest keys are reserved by the map
        auto [known, fresh] = last.try_emplace(gram, at);
        if (!fresh) ++counts[at - known->second];
        known->second = at;
      }
    }
    std::vector<std::pair<size_t, size_t>> ranked; // (count, period)
    for (auto [period, count] : counts)
      if (period >= kLeastLength) ranked.emplace_back(count, period);
    llvm::sort(ranked, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<size_t> periods;
    for (auto [count, period] : llvm::makeArrayRef(ranked).take_front(kMostPeriods))
      periods.push_back(period);
    return periods;
  }

  std::vector<Region> regions() const {
    std::vector<Region> regions;
    for (size_t period : periods()) {
      size_t length = 0;
      for (size_t at = 0; at + period <= tokens_.size(); ++at) {
        bool equal = at + period < tokens_.size() && tokens_[at] == tokens_[at + period];
        if (equal) {
          ++length;
          continue;
        }
        if (length >= period) regions.push_back({at - length, period, length});
        length = 0;
      }
    }
    return regions;
  }

  /// Chooses the offset of the copies within a region. The score is the text saved by writing the
  /// block once.
  std::optional<std::pair<size_t, Repeat>> best_of(const Region& region) {
    size_t whole = region.length + region.period, work = 0;
    std::optional<std::pair<size_t, Repeat>> best;
    for (size_t offset = 0; offset < region.period && work <= kMostWork; ++offset) {
      size_t count = (whole - offset) / region.period;
      if (count < 2) break;
      work += count * region.period;
      std::optional<Repeat> repeat = copies_at(region.begin + offset, region.period, count);
      if (!repeat) continue;
      size_t lines = region.period + repeat->weights.size();
      size_t saved = (repeat->copies.size() - 1) * lines;
      size_t costs = 2 * (repeat->arguments.size() + repeat->results.size()) +
                     (repeat->is_loop ? 0 : repeat->copies.size());
      if (saved < costs + kLeastSaved) continue;
      if (!best || saved - costs > best->first) best.emplace(saved - costs, std::move(*repeat));
    }
    return best;
  }

  // --- copies -----------------------------------------------------------------------------------

  using Copies = std::vector<std::vector<NodeId>>;

  /// Returns the copies in line from `begin` on, extended by earlier copies that are interleaved
  /// with other operators.
  std::optional<Repeat> copies_at(size_t begin, size_t period, size_t count) {
    Copies copies(count);
    for (size_t k = 0; k < count; ++k) {
      auto first = line_.begin() + static_cast<std::ptrdiff_t>(begin + k * period);
      copies[k].assign(first, first + static_cast<std::ptrdiff_t>(period));
    }
    std::optional<Repeat> repeat = classified(std::move(copies), begin);
    while (repeat) {
      Copies more = repeat->copies;
      std::vector<NodeId> before = copy_before(*repeat, begin);
      if (before.empty()) break;
      more.insert(more.begin(), std::move(before));
      std::optional<Repeat> longer = classified(std::move(more), begin);
      if (!longer || longer->arguments.size() > repeat->arguments.size()) break;
      repeat = std::move(longer);
    }
    return repeat;
  }

  /// Returns the operators of a copy before the first one, which is interleaved with other
  /// operators. It computes the first copy's carried arguments. Empty if there is none.
  std::vector<NodeId> copy_before(const Repeat& repeat, size_t begin) {
    llvm::ArrayRef<NodeId> first = repeat.copies[0];
    std::vector<NodeId> copy(first.size());
    llvm::SmallVector<std::pair<size_t, NodeId>, 32> worklist; // (place, node)
    for (const RepeatedArgument& argument : repeat.arguments)
      if (argument.carried >= 0)
        worklist.emplace_back(repeat.results[static_cast<size_t>(argument.carried)],
                              argument.of[0]);
    mark({first.vec()});
    size_t found = 0;
    while (!worklist.empty()) {
      auto [place, node] = worklist.pop_back_val();
      if (copy[place] == node) continue;
      size_t at = place_[node.index];
      bool equal = !copy[place].valid() && at != kNowhere && at < begin &&
                   tokens_[at] == tokens_[place_[first[place].index]];
      if (!equal) return {};
      copy[place] = node;
      ++found;
      llvm::ArrayRef<NodeId> wanted = operands(first[place]), read = operands(node);
      if (wanted.size() != read.size()) return {};
      for (size_t slot = 0; slot < wanted.size(); ++slot)
        if (copy_of(wanted[slot]) == 0)
          worklist.emplace_back(place_in_copy(wanted[slot]), read[slot]);
    }
    return found == copy.size() ? copy : std::vector<NodeId>();
  }

  /// Records the copy and the place of each node.
  void mark(const Copies& copies) {
    ++generation_;
    for (size_t k = 0; k < copies.size(); ++k)
      for (size_t place = 0; place < copies[k].size(); ++place)
        marks_[copies[k][place].index] = {generation_, k, place};
  }
  size_t copy_of(NodeId id) const {
    const Mark& mark = marks_[id.index];
    return mark.generation == generation_ ? mark.copy : kNowhere;
  }
  size_t place_in_copy(NodeId id) const { return marks_[id.index].place; }

  /// Determines the arguments and results of the copies. Returns nullopt if they read differently,
  /// or are read in an order that calls do not permit.
  std::optional<Repeat> classified(Copies copies, size_t begin) {
    Repeat repeat;
    repeat.copies = std::move(copies);
    repeat.at = line_[begin];
    mark(repeat.copies);
    size_t period = repeat.copies[0].size();
    for (size_t place = 0; place < period; ++place) {
      bool read_outside = false;
      for (const std::vector<NodeId>& copy : repeat.copies) {
        if (copy_of(copy[place]) == kNowhere || place_in_copy(copy[place]) != place)
          return std::nullopt;
        read_outside |= is_output_[copy[place].index];
        for (size_t reader : readers_[place_[copy[place].index]]) {
          size_t by = copy_of(line_[reader]);
          if (by == kNowhere && reader < begin) return std::nullopt;
          read_outside |= by != copy_of(copy[place]);
        }
      }
      if (read_outside) repeat.results.push_back(static_cast<uint32_t>(place));
    }
    if (repeat.results.size() > kMostResults) return std::nullopt;
    for (size_t place = 0; place < period; ++place)
      for (size_t slot = 0; slot < operands(repeat.copies[0][place]).size(); ++slot)
        if (!read(repeat, place, slot)) return std::nullopt;
    if (repeat.arguments.size() > kMostArguments || !find_body(repeat)) return std::nullopt;
    repeat.is_loop = is_loop(repeat);
    return repeat;
  }

  /// Classifies an operand over all copies. Returns false if they read differently.
  bool read(Repeat& repeat, size_t place, size_t slot) const {
    size_t inside = 0;
    std::vector<NodeId> of;
    std::vector<size_t> at; // place within its copy
    for (size_t k = 0; k < repeat.copies.size(); ++k) {
      llvm::ArrayRef<NodeId> read = operands(repeat.copies[k][place]);
      if (slot >= read.size()) return false; // two operators with equal tokens by coincidence
      of.push_back(read[slot]);
      bool own = copy_of(of[k]) == k;
      inside += own;
      at.push_back(own ? place_in_copy(of[k]) : kNowhere);
    }
    if (inside > 0) return inside == of.size() && llvm::is_splat(at);
    OpKind op = graph_.node(of[0]).op;
    if (op == OpKind::Constant || op == OpKind::None) return llvm::is_splat(of);
    if (op == OpKind::Weight && !llvm::is_splat(of)) return weight(repeat, std::move(of));
    argument(repeat, std::move(of));
    return true;
  }

  /// Weights whose paths have no common expression become arguments, and so do weights with other
  /// readers, because a path is declared once.
  bool weight(Repeat& repeat, std::vector<NodeId> of) const {
    for (const RepeatedWeight& known : repeat.weights)
      if (known.of == of) return true;
    llvm::SmallVector<llvm::StringRef, 16> paths;
    bool own = true;
    for (size_t k = 0; k < of.size(); ++k) {
      if (graph_.node(of[k]).op != OpKind::Weight) return false;
      paths.push_back(graph_.attr(of[k], 0).text);
      for (size_t reader : weight_readers_.lookup(of[k].index)) own &= copy_of(line_[reader]) == k;
    }
    if (auto path = own ? common_path(paths) : std::nullopt)
      repeat.weights.push_back({std::move(of), std::move(*path)});
    else
      add_argument(repeat, {std::move(of)});
    return true;
  }

  void argument(Repeat& repeat, std::vector<NodeId> of) const {
    RepeatedArgument argument{std::move(of)};
    argument.same = llvm::is_splat(argument.of);
    bool carried = copy_of(argument.of[1]) == 0;
    size_t place = carried ? place_in_copy(argument.of[1]) : 0;
    for (size_t k = 1; k < argument.of.size() && carried; ++k)
      carried = argument.of[k] == repeat.copies[k - 1][place];
    if (carried)
      argument.carried =
          static_cast<int>(llvm::find(repeat.results, place) - repeat.results.begin());
    add_argument(repeat, std::move(argument));
  }

  static void add_argument(Repeat& repeat, RepeatedArgument argument) {
    for (const RepeatedArgument& known : repeat.arguments)
      if (known.of == argument.of) return;
    repeat.arguments.push_back(std::move(argument));
  }

  /// Finds a copy whose arguments are all different nodes. A first step whose two states start as
  /// the same tensor of zeros cannot distinguish them.
  static bool find_body(Repeat& repeat) {
    for (repeat.body = 0; repeat.body < repeat.copies.size(); ++repeat.body) {
      llvm::SmallSet<uint32_t, 16> read;
      for (const RepeatedArgument& argument : repeat.arguments)
        read.insert(argument.of[repeat.body].index);
      if (read.size() == repeat.arguments.size()) return true;
    }
    return false;
  }

  bool is_loop(const Repeat& repeat) const {
    llvm::SmallVector<int, 8> carried;
    for (const RepeatedArgument& argument : repeat.arguments) {
      if (!argument.same && argument.carried < 0) return false;
      if (argument.carried < 0) continue;
      if (llvm::is_contained(carried, argument.carried)) return false;
      carried.push_back(argument.carried);
    }
    if (carried.size() != repeat.results.size()) return false;
    for (size_t k = 0; k + 1 < repeat.copies.size(); ++k) // only the last copy is read by others
      for (uint32_t place : repeat.results) {
        NodeId id = repeat.copies[k][place];
        if (is_output_[id.index]) return false;
        for (size_t reader : readers_[place_[id.index]]) {
          size_t by = copy_of(line_[reader]);
          if (by != k && by != k + 1) return false;
        }
      }
    return true;
  }

  struct Mark {
    uint32_t generation = 0;
    size_t copy = 0, place = 0;
  };

  const Graph& graph_;
  std::vector<size_t> place_; // by node: place in line_
  std::vector<const GraphCall*> call_;
  std::vector<NodeId> line_; // written operators, in the graph's order
  std::vector<size_t> tokens_;
  std::vector<std::vector<size_t>> readers_; // by place
  llvm::DenseMap<uint32_t, std::vector<size_t>> weight_readers_;
  std::vector<bool> is_output_;
  uint32_t generation_ = 0;
  std::vector<Mark> marks_; // by node, for the copies being examined
};

} // namespace

std::vector<Repeat> find_repeats(const Graph& graph, llvm::ArrayRef<GraphCall> calls) {
  return Finder(graph, calls).run();
}

} // namespace tg
