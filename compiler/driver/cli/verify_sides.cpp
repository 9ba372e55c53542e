#include "compiler/driver/cli/verify_sides.h"

#include "compiler/driver/cli/pipeline.h"
#include "lang/syntax/parse.h"

#include <llvm/Support/FileSystem.h>

namespace tg::cli {

namespace {

/// `f.tg:left`; a file whose own name has a colon is taken as it is.
VerifySide side_of(llvm::StringRef text, const std::string& model) {
  auto [file, name] = text.rsplit(':');
  if (name.empty() || llvm::sys::fs::exists(text)) return {text.str(), model};
  return {file.str(), name.str()};
}

/// The names of the models of a file, in order.
std::vector<std::string> models_of(Session& session, const std::string& path) {
  std::vector<std::string> names;
  Result<FileId> file = load_file(session.sources, path);
  if (!file) return names;
  DiagnosticSink quiet; // what is wrong is reported when the models are built
  Ast tree = parse(session.sources, *file, quiet);
  for (ast::DeclId id : tree.decls())
    if (tree[id].kind == ast::DeclKind::Model) names.push_back(tree[id].name.text.str());
  return names;
}

std::optional<VerifySides> named_sides(Session& session) {
  const Options& o = session.options;
  VerifySides sides;
  if (o.files.size() == 2) {
    sides.a = side_of(o.files[0], o.model), sides.b = side_of(o.files[1], o.model);
    return sides;
  }
  std::vector<std::string> names;
  if (o.files.size() == 1) names = models_of(session, o.files[0]);
  if (names.size() == 2) {
    sides.a = {o.files[0], names[0]}, sides.b = {o.files[0], names[1]};
    return sides;
  }
  session.sink.report(error(Code::usage, "`tg verify` compares two models, not {0}",
                            o.files.size() == 1 ? names.size() : o.files.size())
                          .suggest("two files, FILE:MODEL twice, or one file with two models"));
  return std::nullopt;
}

Result<void> open_file(VerifySide& side, const std::string& path) {
  if (path.empty()) return {};
  TG_TRY(Safetensors file, Safetensors::open(path));
  TG_CHECK(check_weights(compare_weights(side.graph, &file), side.graph.name(), path));
  side.weights = std::make_shared<const Safetensors>(std::move(file));
  return {};
}

/// Traces the folded weights of `side` back to those of `source`.
Result<void> trace_folded(VerifySides& sides, VerifySide& side, const VerifySide& source,
                          uint64_t seed) {
  if (!side.weights) return {};
  TG_TRY(std::optional<Graph> values, read_folding(*side.weights));
  if (!values) return {};
  PrepareOptions options;
  options.seed = seed;
  if (source.weights) options.weights = weights_from(source.weights);
  TG_TRY(sides.folding, check_folding(*values, options, *side.weights));
  sides.folded_from_seed = !source.weights;
  side.graph = unfold(side.graph, *values);
  return {};
}

Result<void> read_weights(VerifySides& sides, const Options& o) {
  TG_CHECK(open_file(sides.a, o.weights));
  TG_CHECK(open_file(sides.b, o.weights_b));
  TG_CHECK(trace_folded(sides, sides.b, sides.a, o.seed));
  if (!sides.folding) TG_CHECK(trace_folded(sides, sides.a, sides.b, o.seed));
  if (!sides.a.weights || !sides.b.weights) return {};
  TG_TRY(sides.weight, differing_weight(sides.b.graph, *sides.a.weights, *sides.b.weights));
  return {};
}

std::string alone_text(llvm::ArrayRef<std::string> paths, llvm::StringRef file) {
  std::string text = "`" + paths[0] + "`";
  if (paths.size() > 1) text += llvm::formatv(" and {0} more", paths.size() - 1);
  return llvm::formatv("{0} {1} of `{2}` alone, and what the other model has in {3} place is not "
                       "known",
                       text, paths.size() == 1 ? "is a weight" : "are weights", file,
                       paths.size() == 1 ? "its" : "their");
}

} // namespace

std::optional<VerifySides> load_sides(Session& session) {
  const Options& o = session.options;
  std::optional<VerifySides> sides = named_sides(session);
  if (!sides) return std::nullopt;
  for (VerifySide* side : {&sides->a, &sides->b}) {
    std::optional<Graph> graph =
        load_model(session.sources, side->file, {side->model, o.set}, session.sink);
    if (!graph) return std::nullopt;
    side->graph = std::move(*graph);
  }
  if (Result<void> read = read_weights(*sides, o); !read) {
    session.sink.report(std::move(read.error()));
    return std::nullopt;
  }
  return sides;
}

void judge_weights(const VerifySides& sides, Equivalence& result) {
  bool wrong = sides.folding && sides.folding->wrong;
  if (sides.weight || (wrong && !sides.folded_from_seed)) {
    result.verdict = Equivalence::Verdict::Different;
    return;
  }
  if (wrong && result.equal()) {
    result.verdict = Equivalence::Verdict::Undecided;
    result.undecided = llvm::formatv(
        "the folded weight `{0}` is not what the random weights of the seed give", // of the source
        sides.folding->wrong->path);
    result.help = "`--weights` names the weights that it was computed from";
    return;
  }
  if (!result.different()) return;
  for (const VerifySide* side : {&sides.b, &sides.a}) {
    const VerifySide& other = side == &sides.a ? sides.b : sides.a;
    std::vector<std::string> alone = weights_of_one_side(side->graph, other.graph);
    if (alone.empty()) continue;
    result.verdict = Equivalence::Verdict::Undecided;
    result.undecided = alone_text(alone, side->file);
    result.help =
        side->weights
            ? "its file has no record of what it was computed from; `tg opt --weights-out` "
              "writes one"
            : llvm::formatv("`{0}` names its file, where `tg opt --weights-out` records what it "
                            "computed weights from",
                            side == &sides.a ? "--weights" : "--weights-b")
                  .str();
    result.part.reset();
    return;
  }
}

} // namespace tg::cli
