// Implements verify_models.h.
#include "compiler/api/verify/verify_models.h"

#include "compiler/api/backends/devices.h"

#include <llvm/Support/SHA256.h>

namespace tg {
namespace {

struct Sides {
  VerifySide a, b;
  std::optional<FoldingCheck> folding = {};
  /// The folded weights were compared with values computed from the random weights of the seed.
  bool folded_from_seed = false;
  std::optional<WeightDifference> weight = {};
  /// A weight that a record reads and the other side lacks, so the record belongs to another
  /// source.
  std::string untraced = {};
  /// Weights of only one side that its file has. They are constants now, so a difference may be due
  /// to these weights alone.
  std::vector<std::string> known_a = {}, known_b = {};
};

/// Returns the first weight that `values` reads and the side lacks:
/// in its file, or in the model if there is no file.
std::string lacking(const Graph& values, const VerifySide& side) {
  for (const std::string& path : weights_of_one_side(values, side.graph))
    if (!side.weights || !side.weights->find(path)) return path;
  return {};
}

Result<void> open_file(VerifySide& side, const std::string& path) {
  if (path.empty()) return {};
  TG_TRY(side.weights, open_weight_file(path));
  return check_weights(compare_weights(side.graph, side.weights.get()), side.graph.name(), path);
}

/// Returns the computation of the file's folded weights from the weights of the file before the one
/// that `values` reads, by that file's record.
Graph unfold_one_file(const Graph& values, const Graph& earlier, const WeightFile& file) {
  Graph all = values;
  for (const GraphOutput& output : earlier.outputs()) {
    bool known = llvm::any_of(values.outputs(), [&](auto& o) { return o.name == output.name; });
    const WeightFile::Entry* entry = known ? nullptr : file.find(output.name);
    if (entry && entry->type == earlier.type(output.node))
      all.add_output(output.name, all.weight(output.name, entry->type));
  }
  return unfold(all, earlier);
}

/// Returns the computation of the folded weights of `side` from those of `source`, which may be
/// several files back. Returns nullopt without a matching record; sides.untraced has the weight
/// that `source` lacks.
Result<std::optional<Graph>> folding_from(Sides& sides, const VerifySide& side,
                                          const VerifySide& source) {
  TG_TRY(std::vector<Graph> foldings, read_foldings(*side.weights));
  std::optional<Graph> values;
  for (const Graph& folding : foldings) {
    values = values ? unfold_one_file(*values, folding, *side.weights) : folding;
    std::string path = lacking(*values, source);
    if (path.empty()) {
      sides.untraced.clear();
      return values;
    }
    sides.untraced = std::move(path);
  }
  return std::optional<Graph>();
}

/// Traces the folded weights of `side` back to those of `source`.
Result<void> trace_folded(Sides& sides, VerifySide& side, const VerifySide& source, uint64_t seed,
                          const StopToken& stop) {
  if (!side.weights) return {};
  TG_TRY(std::optional<Graph> values, folding_from(sides, side, source));
  if (!values) return {};
  PrepareOptions options;
  options.seed = seed;
  options.interrupt = stop;
  if (source.weights) options.weights = weights_from(source.weights);
  TG_TRY(sides.folding, check_folding(*values, options, *side.weights));
  sides.folded_from_seed = !source.weights;
  side.graph = unfold(side.graph, *values, source.weights.get());
  return {};
}

/// Returns a key that two tensors share only if they have the same type and elements.
Result<std::string> contents(const WeightFile& file, const WeightFile::Entry& entry) {
  TG_TRY(Tensor tensor, file.view(entry));
  auto bytes = llvm::makeArrayRef(reinterpret_cast<const uint8_t*>(tensor.data()),
                                  static_cast<size_t>(tensor.bytes()));
  auto digest = llvm::SHA256::hash(bytes);
  return entry.type.text() + std::string(digest.begin(), digest.end());
}

/// Renames weights of only one side to names on the other side with the same contents: preferably
/// names that only the other side has.
Result<void> rename_as_in(VerifySide& side, const VerifySide& other) {
  llvm::StringMap<std::string> key_of, path_of, names; // by path; by contents; by path
  llvm::StringSet<> types;
  for (const std::string& path : weights_of_one_side(side.graph, other.graph))
    if (const WeightFile::Entry* entry = side.weights->find(path)) {
      TG_TRY(key_of[path], contents(*side.weights, *entry));
      types.insert(entry->text);
    }
  if (key_of.empty()) return {};
  std::vector<std::string> candidates = weights_of_one_side(other.graph, side.graph);
  llvm::append_range(candidates,
                     weights_of_one_side(other.graph, Graph(std::make_shared<Symbols>())));
  for (const std::string& path : candidates)
    if (const WeightFile::Entry* entry = other.weights->find(path);
        entry && types.contains(entry->text)) {
      TG_TRY(std::string key, contents(*other.weights, *entry));
      path_of.try_emplace(key, path);
    }
  for (const auto& alone : key_of)
    if (auto known = path_of.find(alone.second); known != path_of.end())
      names[alone.first()] = known->second;
  if (!names.empty()) side.graph = with_renamed_weights(side.graph, names);
  return {};
}

/// Converts weights of only one side to constants, because the other side may have the same numbers
/// as literals, or compute them.
Result<std::vector<std::string>> take_numbers(VerifySide& side, const VerifySide& other) {
  std::vector<std::string> alone;
  if (side.weights) alone = weights_of_one_side(side.graph, other.graph);
  if (alone.empty()) return alone;
  TG_TRY(side.graph, with_known_weights(side.graph, alone, *side.weights));
  llvm::erase_if(alone, [&](const std::string& path) { return !side.weights->find(path); });
  return alone;
}

Result<void> match_by_content(Sides& sides) {
  if (sides.a.weights && sides.b.weights) {
    TG_CHECK(rename_as_in(sides.b, sides.a));
    TG_CHECK(rename_as_in(sides.a, sides.b));
  }
  TG_TRY(sides.known_b, take_numbers(sides.b, sides.a));
  TG_TRY(sides.known_a, take_numbers(sides.a, sides.b));
  if (is_onnx_path(sides.a.file) || is_onnx_path(sides.b.file))
    for (VerifySide* side : {&sides.a, &sides.b}) side->graph = with_short_constants(side->graph);
  return {};
}

Result<void> read_weights(Sides& sides, const tangram::VerifyOptions& o, const StopToken& stop) {
  TG_CHECK(open_file(sides.a, o.weights_file_a));
  TG_CHECK(open_file(sides.b, o.weights_file_b));
  TG_CHECK(trace_folded(sides, sides.b, sides.a, o.seed, stop));
  if (!sides.folding) TG_CHECK(trace_folded(sides, sides.a, sides.b, o.seed, stop));
  if (sides.a.weights && sides.b.weights) {
    TG_TRY(sides.weight, differing_weight(sides.b.graph, *sides.a.weights, *sides.b.weights, stop));
  }
  return match_by_content(sides);
}

std::string unmatched_weights_text(llvm::ArrayRef<std::string> paths, llvm::StringRef file) {
  std::string text = "`" + paths[0] + "`";
  if (paths.size() > 1) text += llvm::formatv(" and {0} more", paths.size() - 1);
  return llvm::formatv(
      "{0} {1} only of `{2}`, and the values that replace {3} in the other model are "
      "unknown",
      text, paths.size() == 1 ? "is a weight" : "are weights", file,
      paths.size() == 1 ? "it" : "them");
}

Equivalence undecided(std::string why) {
  Equivalence result;
  result.verdict = Equivalence::Verdict::Undecided;
  result.undecided = std::move(why);
  return result;
}

/// Includes the weights in the verdict. Different numbers in the files decide. A difference between
/// models over weights with unknown values is undecided.
void judge_weights(const Sides& sides, Equivalence& result) {
  bool wrong = sides.folding && sides.folding->wrong;
  if (sides.weight || (wrong && !sides.folded_from_seed)) {
    result.verdict = Equivalence::Verdict::Different;
    return;
  }
  if (wrong && result.equal()) {
    result.verdict = Equivalence::Verdict::Undecided;
    result.undecided = llvm::formatv(
        "the folded weight `{0}` does not follow from the random weights of the seed", // of the
                                                                                       // source
        sides.folding->wrong->path);
    result.help = "name the weights that it was computed from with `--weights`";
    return;
  }
  if (!result.different()) return;
  if (sides.folding && sides.folding->incomplete) {
    result.verdict = Equivalence::Verdict::Undecided;
    result.undecided =
        "a file lacks folded weights that its record names, for example because another "
        "program joined equal weights, so its weights cannot be traced";
    result.help = "compare it with the file from which it was made";
    result.part.reset();
    result.counterexample.reset();
    return;
  }
  for (const VerifySide* side : {&sides.b, &sides.a}) {
    const VerifySide& other = side == &sides.a ? sides.b : sides.a;
    std::vector<std::string> alone = weights_of_one_side(side->graph, other.graph);
    llvm::append_range(alone, side == &sides.a ? sides.known_a : sides.known_b);
    if (alone.empty()) continue;
    result.verdict = Equivalence::Verdict::Undecided;
    result.undecided = unmatched_weights_text(alone, side->file);
    result.help =
        side->weights && !sides.untraced.empty()
            ? llvm::formatv("a file was computed from `{0}`, which the other file lacks",
                            sides.untraced)
                  .str()
        : side->weights
            ? "its file does not record the sources of its weights; `tg opt` writes such a "
              "record"
            : llvm::formatv("name its weight file with `{0}`: `tg opt --weights-out` records the "
                            "sources of weights there",
                            side == &sides.a ? "--weights" : "--weights-b")
                  .str();
    result.part.reset();
    result.counterexample.reset();
    return;
  }
}

/// The numbers that both files have for an input. A caveat says where one has more.
InputRanges common_ranges(const Sides& sides, std::vector<std::string>& caveats) {
  InputRanges common;
  for (NodeId input : sides.a.graph.inputs()) {
    const std::string& name = sides.a.graph.attr(input, 0).text;
    DType dtype = sides.a.graph.type(input).dtype;
    if (!is_integer(dtype)) continue;
    auto of = [&](const VerifySide& side) {
      auto found = side.ranges.find(name);
      return found == side.ranges.end() ? range_of_dtype(dtype) : found->second;
    };
    WholeRange a = of(sides.a), b = of(sides.b);
    WholeRange both{std::max(a.low, b.low), std::min(a.high, b.high)};
    if (both != range_of_dtype(dtype)) common[name] = both;
    if (a != b)
      caveats.push_back(
          llvm::formatv("`{0}` has integers from {1} to {2} in one file, and from {3} "
                        "to {4} in the other: the common range was compared",
                        name, a.low, a.high, b.low, b.high));
  }
  return common;
}

} // namespace

Result<ModelsVerified> verify_models(VerifySide a, VerifySide b, const tangram::VerifyOptions& o,
                                     const StopToken& stop) {
  Sides sides{std::move(a), std::move(b)};
  Result<void> weights = read_weights(sides, o, stop);
  if (!weights && weights.error().code == Code::limit_no_answer)
    return ModelsVerified{undecided("stopped before the weights were compared")};
  TG_CHECK(weights);
  EquivalenceOptions options;
  options.seed = o.seed;
  options.threads = thread_count(o.threads);
  options.caveats = true;
  options.stop = [stop = stop.with_memory()] { return stop.asked(); };
  options.memory_limit_bytes = stop.bytes_left();
  std::vector<std::string> caveats;
  InputRanges ranges = common_ranges(sides, caveats);
  TG_TRY(Equivalence result, check_equivalence(sides.a.graph, sides.b.graph, options, ranges));
  if (result.equal()) llvm::append_range(result.caveats, caveats);
  judge_weights(sides, result);
  return ModelsVerified{std::move(result), std::move(sides.folding), std::move(sides.weight)};
}

} // namespace tg
