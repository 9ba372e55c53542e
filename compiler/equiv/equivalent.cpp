#include "compiler/equiv/equivalent.h"

#include "compiler/equiv/field.h"
#include "compiler/equiv/minimise.h"
#include "compiler/equiv/part.h"
#include "compiler/ir/evaluation.h"
#include "lang/core/random.h"

#include <algorithm>
#include <thread>

namespace tg {

namespace {

using FieldValues = std::vector<Field>;

/// Leaves of a point: uniform over 61 bits, from (seed, point, name, element).
Evaluation<Field>::Leaves field_leaves(uint64_t seed, size_t point) {
  return [seed, point](const Graph& graph, NodeId id) {
    llvm::StringRef kind = graph.node(id).op == OpKind::Input ? "input " : "weight ";
    std::string name = llvm::formatv("{0} {1}{2}", point, kind, graph.attr(id, 0).text);
    RandomStream stream(seed, name);
    FieldValues values(static_cast<size_t>(graph.type(id).elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = Field::of_bits(stream.bits(i) >> 3);
    return values;
  };
}

/// Pairs of outputs that are not one node.
struct Pairs {
  llvm::SmallVector<NodeId, 4> wanted; // a, b, a, b, ...
  llvm::SmallVector<size_t, 4> outputs;

  explicit Pairs(const Joined& joined) {
    for (size_t i = 0; i < joined.a.size(); ++i) {
      if (joined.a[i] == joined.b[i]) continue;
      wanted.append({joined.a[i], joined.b[i]});
      outputs.push_back(i);
    }
  }
};

/// The first pair that differs at this point; as many as there are if none does, or if stopped.
size_t differing_pair(const Joined& joined, const Pairs& pairs, const EquivalenceOptions& options,
                      size_t point) {
  Evaluation<Field> evaluation(joined.graph, pairs.wanted);
  evaluation.stop_when(options.stop);
  auto values = evaluation.run(field_leaves(options.seed, point));
  assert(values && "field_leaves fills every leaf");
  if (evaluation.stopped()) return pairs.outputs.size();
  for (size_t i = 0; i < pairs.outputs.size(); ++i)
    if ((*values)[2 * i] != (*values)[2 * i + 1]) return i;
  return pairs.outputs.size();
}

/// The differing pairs of the points first to last.
std::vector<size_t> run_points(const Joined& joined, const Pairs& pairs,
                               const EquivalenceOptions& options, size_t first, size_t last) {
  std::vector<size_t> found(last - first, pairs.outputs.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < found.size(); ++i)
    threads.emplace_back([&, i] { found[i] = differing_pair(joined, pairs, options, first + i); });
  found[0] = differing_pair(joined, pairs, options, first);
  for (std::thread& thread : threads) thread.join();
  return found;
}

Equivalence undecided(Equivalence result, std::string why) {
  result.verdict = Equivalence::Verdict::Undecided;
  result.undecided = std::move(why);
  return result;
}

bool stopped(const EquivalenceOptions& options) { return options.stop && options.stop(); }

} // namespace

llvm::StringRef method_name(Equivalence::Method method) {
  switch (method) {
  case Equivalence::Method::Identical: return "identical";
  case Equivalence::Method::Field: return "prime field";
  case Equivalence::Method::Float64: return "float64";
  }
  return "";
}

Result<Equivalence> check_equivalence(const Graph& a, const Graph& b,
                                      const EquivalenceOptions& options) {
  TG_TRY(Joined joined, join(a, b));
  return check_equivalence(joined, options);
}

double check_bytes(const Joined& joined) {
  return Evaluation<Field>(joined.graph, Pairs(joined).wanted).peak_bytes();
}

Equivalence check_equivalence(const Joined& joined, const EquivalenceOptions& options) {
  Equivalence result;
  Pairs pairs(joined);
  result.verdict = Equivalence::Verdict::Equal;
  if (pairs.outputs.empty()) return result;
  double bytes = check_bytes(joined);
  if (bytes > static_cast<double>(options.memory_limit_bytes))
    return undecided(result, llvm::formatv("the check would hold {0:f0} MB, and the limit is {1}",
                                           bytes / (1 << 20), options.memory_limit_bytes >> 20));
  result.per_point = bound_of(joined.graph, pairs.wanted);
  size_t points = points_for(result.per_point, options.log2_target, options.least_points);
  result.method = Equivalence::Method::Field;
  size_t at_a_time = static_cast<size_t>(std::max(options.threads, 1));
  size_t differing = pairs.outputs.size();
  while (result.points < points && differing == pairs.outputs.size()) {
    size_t last = std::min(points, result.points + at_a_time);
    // What a later point of the same round found does not count: the answer is that of one thread.
    for (size_t found : run_points(joined, pairs, options, result.points, last)) {
      ++result.points;
      if ((differing = found) != pairs.outputs.size()) break;
    }
    if (stopped(options)) return undecided(result, "stopped");
  }
  result.log2_error = result.per_point.log2_miss * static_cast<double>(result.points);
  if (differing == pairs.outputs.size()) return result;

  result.method = Equivalence::Method::Float64;
  result.field_difference = joined.names[pairs.outputs[differing]];
  result.counterexample = find_counterexample(joined, options);
  if (!result.counterexample && stopped(options)) return undecided(result, "stopped");
  if (result.counterexample) result.verdict = Equivalence::Verdict::Different;
  if (result.different() && options.minimise)
    result.part = find_part(joined, pairs.outputs[differing],
                            field_leaves(options.seed, result.points - 1), options);
  return result;
}

} // namespace tg
