#include "compiler/verify/field/check.h"

#include "lang/core/support/threads.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

constexpr uint64_t kAttempts = 8;                 // per point
constexpr size_t kElementsWorthThreads = 1 << 16; // elements

/// Hashes the inputs of a check: the seed, and every node that the pairs need.
Digest digest_of_check(const Joined& joined, llvm::ArrayRef<NodeId> pairs, uint64_t seed) {
  const Graph& graph = joined.graph;
  std::vector<bool> needed(graph.size());
  for (NodeId id : pairs) needed[id.index] = true;
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
    if (needed[i])
      for (NodeId operand : graph.operands({i})) needed[operand.index] = true;
  std::vector<std::string> texts = {std::to_string(seed)};
  for (NodeId id : pairs) texts.push_back(std::to_string(id.index));
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i]) continue;
    texts.emplace_back(op_info(graph.node({i}).op).name);
    texts.push_back(graph.type({i}).text());
    for (size_t slot = 0; slot < graph.attrs({i}).size(); ++slot)
      texts.push_back(graph.attr({i}, slot).text_form());
    for (int64_t whole : graph.attrs({i}).empty()
                             ? llvm::ArrayRef<int64_t>()
                             : llvm::ArrayRef<int64_t>(graph.attr({i}, 0).ints))
      texts.push_back(std::to_string(whole)); // some constants have both
    for (NodeId operand : graph.operands({i})) texts.push_back(std::to_string(operand.index));
  }
  std::vector<llvm::StringRef> parts(texts.begin(), texts.end());
  return digest_of(parts);
}

} // namespace

FieldCheck::FieldCheck(const Joined& joined, llvm::ArrayRef<NodeId> pairs,
                       const EquivalenceOptions& options)
    : joined_(joined), pairs_(pairs), options_(options),
      digest_(digest_of_check(joined, pairs, options.seed)) {}

Evaluation<Field>::Leaves FieldCheck::leaves() {
  return [](const Graph& graph, NodeId id) {
    llvm::StringRef kind = graph.node(id).op == OpKind::Input ? "input " : "weight ";
    FieldStream stream(key_of_text((kind + graph.attr(id, 0).text).str()));
    std::vector<Field> values(static_cast<size_t>(graph.type(id).elements()));
    auto fill = [&](size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) values[i] = stream.element(i);
    };
    size_t count = values.size() < kElementsWorthThreads
                       ? 1
                       : static_cast<size_t>(std::max(field_point.threads, 1));
    in_parts(count, [&, point = field_point](size_t part) {
      FieldScope scope(point); // of this thread
      fill(values.size() * part / count, values.size() * (part + 1) / count);
    });
    return values;
  };
}

FieldPoint FieldCheck::drawn(size_t number, uint64_t attempt) const {
  FieldPoint point = draw_point(digest_, number, attempt);
  point.threads = options_.threads;
  point.stop = &options_.stop;
  return point;
}

FieldCheck::Outcome FieldCheck::run(size_t number) {
  for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    point_ = drawn(number, attempt);
    FieldScope scope(point_);
    Evaluation<Field> evaluation(joined_.graph, pairs_);
    evaluation.stop_when(options_.stop);
    auto values = evaluation.run(leaves());
    assert(values && "every leaf has a value");
    if (evaluation.stopped() || point_.stop_requested()) return Outcome::Stopped;
    if (field_point.spoilt) continue;
    for (size_t i = 0; 2 * i < pairs_.size(); ++i)
      if ((*values)[2 * i] != (*values)[2 * i + 1]) {
        differing_ = i;
        return Outcome::Differ;
      }
    return Outcome::Agree;
  }
  return Outcome::NoUsablePoint;
}

} // namespace tg
