#include "compiler/api/calibration/calibration.h"

#include "lang/core/support/data_file.h"
#include "lang/core/support/random.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/ErrorHandling.h>

namespace tg {

namespace {

/// Draws networks of one kind each.
class NetworkDrawer {
public:
  ModelRequest mobile() {
    auto [c, side] = image();
    int64_t stride = pick({1, 2}), expand = side > 28 ? pick({1, 2, 4}) : pick({3, 4, 6});
    int64_t narrow = channels_of_groups(c * expand);
    bool filters = stride == 1 && narrow > 4 && coin();
    return of("mobile",
              {{"C", c},
               {"P", side},
               {"width", stride == 1 && coin() ? c : pick({16, 24, 40, 64, 80, 112, 192})},
               {"expand", expand},
               {"kernel", pick({3, 3, 5})},
               {"stride", stride},
               {"narrow", narrow},
               {"tile", filters ? pick({2, 4}) : 0},
               {"gate", pick({0, 0, 1})},
               {"form", form()}});
  }
  ModelRequest stem() {
    int64_t c = pick({16, 24, 32, 48, 64});
    return of("stem", {{"P", pick({96, 128, 160, 192, 240, 288})},
                       {"C", c},
                       {"kernel", pick({3, 3, 5, 7})},
                       {"width", pick({16, 24, 40, 96})},
                       {"narrow", pick({1, 2, 8, c})},
                       {"form", form()}});
  }
  ModelRequest residual() {
    int64_t side = pick({7, 14, 28, 56}), c = side == 7    ? pick({256, 512})
                                              : side == 14 ? pick({128, 256, 384})
                                                           : pick({48, 64, 128, 192});
    return of("residual", {{"C", c},
                           {"P", side},
                           {"inner", c / pick({1, 2, 4})},
                           {"groups", pick({1, 1, 1, 4})},
                           {"tile", pick({2, 4})},
                           {"form", form()}});
  }
  ModelRequest branches() {
    int64_t side = pick({14, 17, 28, 35});
    return of("branches", {{"C", pick({64, 96, 160, 256})},
                           {"P", side},
                           {"inner", pick({16, 32, 48, 96})},
                           {"width", pick({64, 80, 128, 192})},
                           {"form", form()}});
  }
  ModelRequest recurrent(llvm::StringRef model) {
    return of(model, {{"S", pick({3, 4, 6})},
                      {"N", pick({1, 1, 2, 8, 32})},
                      {"I", pick({64, 96, 192, 320, 512})},
                      {"H", pick({64, 96, 128, 192, 320, 512})},
                      {"form", form()}});
  }
  ModelRequest layers() {
    return of("layers", {{"N", pick({1, 1, 1, 4, 16, 64, 256})},
                         {"K", width()},
                         {"A", width()},
                         {"B", width()},
                         {"M", pick({2, 12, 100, 1200})},
                         {"form", form()}});
  }
  ModelRequest encoder() {
    int64_t heads = pick({2, 4, 6, 8, 12, 14}), wide = 64 * heads;
    return of("encoder", {{"S", pick({16, 48, 96, 160, 224})},
                          {"D", wide},
                          {"heads", heads},
                          {"hidden", pick({2, 3, 4}) * wide},
                          {"form", pick({0, 1, 1, 2})}});
  }

private:
  static ModelRequest of(llvm::StringRef model,
                         std::initializer_list<std::pair<const char*, int64_t>> settings) {
    ModelRequest out{model.str(), {}};
    for (const auto& [name, value] : settings)
      out.settings.emplace_back(name, std::to_string(value));
    return out;
  }
  int64_t pick(std::initializer_list<int64_t> from) {
    double place = stream_.uniform(next_++) * static_cast<double>(from.size());
    return from.begin()[static_cast<size_t>(place)];
  }
  bool coin() { return pick({0, 1}) == 1; }
  int64_t form() { return pick({0, 1, 1}); }
  int64_t width() { return pick({48, 96, 160, 320, 400, 640, 896, 1536}); }
  /// A part of all.
  int64_t channels_of_groups(int64_t all) {
    int64_t narrow = pick({1, 1, 1, 2, 4, 8, 16, 16});
    while (all % narrow != 0) narrow /= 2;
    return narrow;
  }
  /// Returns channels and pixels along a side: more channels have fewer pixels.
  std::pair<int64_t, int64_t> image() {
    int64_t side = pick({7, 14, 28, 56, 112});
    return {side == 112  ? pick({16, 24})
            : side == 56 ? pick({16, 24, 40})
            : side == 28 ? pick({24, 40, 48})
                         : pick({48, 80, 112, 192}),
            side};
  }

  RandomStream stream_{1, "calibration networks"};
  uint64_t next_ = 0;
};

llvm::StringRef networks_text() {
  const auto* file = llvm::find_if(embedded_files(), [](const EmbeddedFile& one) {
    return one.name == "compiler/api/calibration/calibration_networks.tg";
  });
  return file->text;
}

} // namespace

std::vector<ModelRequest> calibration_networks() {
  constexpr int kRounds = 5;
  std::vector<ModelRequest> out;
  NetworkDrawer draw;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 2; ++i) {
      out.push_back(draw.mobile());
      out.push_back(draw.layers());
      out.push_back(draw.mobile());
      out.push_back(draw.encoder());
    }
    out.push_back(draw.residual());
    out.push_back(draw.recurrent("lstm_steps"));
    out.push_back(draw.stem());
    out.push_back(draw.branches());
    out.push_back(draw.recurrent("gru_steps"));
  }
  return out;
}

Graph calibration_graph(const ModelRequest& network) {
  SourceManager sources;
  FileId file = sources.add("calibration_networks.tg", networks_text().str());
  DiagnosticSink sink;
  std::optional<Graph> graph = load_model(sources, file, network, sink);
  if (!graph) llvm::report_fatal_error("a calibration network is not a valid model");
  return std::move(*graph);
}

} // namespace tg
