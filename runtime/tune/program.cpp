// Programs: tile sizes, checks, text.
#include "runtime/tune/program.h"

#include "runtime/tune/costs.h"
#include "runtime/tune/scanner.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::tune {

namespace {

constexpr int64_t kMostFactor = int64_t{1} << 32;

template <size_t N> std::string dotted(const std::array<int64_t, N>& factors) {
  std::string all;
  for (int64_t one : factors) all += (all.empty() ? "" : ".") + std::to_string(one);
  return all;
}

template <class List> std::string joined(const List& list, auto&& one_text) {
  std::string all;
  for (const auto& one : list) all += (all.empty() ? "" : ", ") + one_text(one);
  return all;
}

std::string number_list(const Extents& list) {
  return joined(list, [](int64_t one) { return std::to_string(one); });
}

template <size_t N>
Result<std::vector<std::array<int64_t, N>>> scan_factors(Scanner& scan, size_t count) {
  std::vector<std::array<int64_t, N>> found(count);
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) TG_CHECK(scan.expect(","));
    TG_TRY(std::vector<int64_t> factors, scan.numbers(1, kMostFactor, "."));
    if (factors.size() != N)
      return error(Code::bad_data_file, "expected {0} factors, got {1}", N, factors.size());
    llvm::copy(factors, found[i].begin());
  }
  return found;
}

template <size_t N>
Result<void> check_factors(const std::vector<std::array<int64_t, N>>& factors,
                           const Extents& loops) {
  if (factors.size() != loops.size())
    return error(Code::bad_data_file, "expected factors of {0} loops, got {1}", loops.size(),
                 factors.size());
  for (auto [split, extent] : llvm::zip(factors, loops)) {
    int64_t left = extent; // divided step by step, so that no product overflows
    for (int64_t factor : split) {
      if (factor < 1 || left % factor != 0)
        return error(Code::bad_data_file, "factors {0} do not make {1}", dotted(split), extent);
      left /= factor;
    }
    if (left != 1)
      return error(Code::bad_data_file, "factors {0} do not make {1}", dotted(split), extent);
  }
  return {};
}

Result<void> check_tile(const Tile& tile, const Nest& nest) {
  TG_CHECK(check_factors(tile.space, nest.space));
  TG_CHECK(check_factors(tile.reduction, nest.reduction));
  for (size_t i = 0; i < tile.reduction.size(); ++i)
    if (nest.load_axis != i && tile.reduction[i][0] != 1)
      return error(Code::bad_data_file, "only the load axis can be fetched in rounds");
  if (!llvm::is_contained(kUnrollSteps, tile.unroll))
    return error(Code::bad_data_file, "{0} is not an unroll step", tile.unroll);
  if (tile.vectors.size() != nest.inputs.size())
    return error(Code::bad_data_file, "expected vectors of {0} inputs, got {1}", nest.inputs.size(),
                 tile.vectors.size());
  for (int64_t vector : tile.vectors)
    if (!llvm::is_contained(kVectors, vector))
      return error(Code::bad_data_file, "{0} is not a vector length", vector);
  return {};
}

bool has_tiles(Sketch sketch) { return sketch == Sketch::Tiles || sketch == Sketch::TilesAndFlat; }

size_t thread_lists(const Program& program) {
  if (program.sketch == Sketch::Tiles) return 0;
  return program.sketch == Sketch::CrossThread ? 1 : flat_stages(program.op).size();
}

Result<Tile> scan_tile(Scanner& scan, const Nest& nest) {
  Tile tile;
  TG_CHECK(scan.expect("tiles"));
  TG_TRY(tile.space, scan_factors<5>(scan, nest.space.size()));
  TG_CHECK(scan.expect("|"));
  TG_TRY(tile.reduction, scan_factors<3>(scan, nest.reduction.size()));
  TG_CHECK(scan.expect(";"));
  TG_CHECK(scan.expect("unroll"));
  TG_TRY(tile.unroll, scan.number(0, kUnrollSteps.back()));
  TG_CHECK(scan.expect(";"));
  TG_CHECK(scan.expect("vectors"));
  TG_TRY(tile.vectors, scan.numbers(1, kVectors.back()));
  return tile;
}

std::string tile_text(const Tile& tile) {
  return llvm::formatv("tiles {0} | {1}; unroll {2}; vectors {3}", joined(tile.space, dotted<5>),
                       joined(tile.reduction, dotted<3>), tile.unroll, number_list(tile.vectors))
      .str();
}

Result<Sketch> scan_sketch(Scanner& scan) {
  for (Sketch sketch : {Sketch::CrossThread, Sketch::Flat, Sketch::TilesAndFlat})
    if (scan.take(sketch_name(sketch))) return sketch;
  return Sketch::Tiles;
}

} // namespace

llvm::StringRef sketch_name(Sketch sketch) {
  static const char* const names[] = {"tiled", "cross", "flat", "staged"};
  return names[static_cast<size_t>(sketch)];
}

std::vector<Sketch> sketches_of(const Operator& op) {
  if (op.type == OpType::FRB) return {Sketch::CrossThread, Sketch::Flat};
  if (op.type == OpType::WIN) return {Sketch::TilesAndFlat};
  // If an operator has fewer results than terms per result, threads share a sum.
  if (op.type == OpType::C2D && volume(op.space) <= volume(op.reduction))
    return {Sketch::Tiles, Sketch::CrossThread};
  return {Sketch::Tiles};
}

int64_t Tile::blocks() const {
  int64_t all = 1;
  for (const auto& split : space) all *= split[0];
  return all;
}

int64_t Tile::threads() const {
  int64_t all = 1;
  for (const auto& split : space) all *= split[2];
  return all;
}

Extents Tile::block() const {
  Extents all;
  for (const auto& split : space) all.push_back(split[1] * split[2] * split[3] * split[4]);
  return all;
}

Extents Tile::grid() const {
  Extents all;
  for (const auto& split : space) all.push_back(split[2]);
  return all;
}

Extents Tile::virtuals() const {
  Extents all;
  for (const auto& split : space) all.push_back(split[1]);
  return all;
}

Extents Tile::fetched() const {
  Extents all;
  for (const auto& split : reduction) all.push_back(split[1] * split[2]);
  return all;
}

Features features(const Program& program, const Nest& nest) {
  const Tile& tile = program.tile;
  if (!has_tiles(program.sketch)) {
    auto threads = static_cast<double>(program.threads.front());
    return {1, threads, 0};
  }
  auto blocks = static_cast<double>(tile.blocks());
  double shared = 0;
  for (const Input& input : nest.inputs)
    shared += staged_elements(nest, input, tile.block(), tile.fetched());
  return {blocks, blocks * static_cast<double>(tile.threads()), blocks * shared};
}

Result<void> check(const Program& program) {
  TG_CHECK(check(program.op));
  if (!llvm::is_contained(sketches_of(program.op), program.sketch))
    return error(Code::bad_data_file, "{0} has no sketch `{1}`", text(program.op),
                 sketch_name(program.sketch));
  if (has_tiles(program.sketch)) TG_CHECK(check_tile(program.tile, nest_of(program.op)));
  if (program.threads.size() != thread_lists(program))
    return error(Code::bad_data_file, "expected threads of {0} stages, got {1}",
                 thread_lists(program), program.threads.size());
  for (int64_t threads : program.threads)
    if (threads < 1 || threads > kMostFactor)
      return error(Code::bad_data_file, "a block cannot have {0} threads", threads);
  return {};
}

std::string text(const Program& program) {
  std::string all = text(program.op) + ";";
  if (program.sketch != Sketch::Tiles) all += " " + sketch_name(program.sketch).str();
  if (has_tiles(program.sketch)) all += " " + tile_text(program.tile);
  if (program.sketch == Sketch::TilesAndFlat) all += ";";
  if (program.sketch != Sketch::Tiles) all += " threads " + number_list(program.threads);
  return all;
}

Result<Program> read_program(llvm::StringRef text) {
  Scanner scan(text);
  Program program;
  TG_TRY(program.op, scan_operator(scan));
  TG_CHECK(scan.expect(";"));
  TG_TRY(program.sketch, scan_sketch(scan));
  if (has_tiles(program.sketch)) {
    TG_TRY(program.tile, scan_tile(scan, nest_of(program.op)));
  }
  if (program.sketch == Sketch::TilesAndFlat) TG_CHECK(scan.expect(";"));
  if (program.sketch != Sketch::Tiles) {
    TG_CHECK(scan.expect("threads"));
    TG_TRY(program.threads, scan.numbers(1, kMostFactor));
  }
  if (!scan.at_end()) return scan.expected("the end");
  TG_CHECK(check(program));
  return program;
}

std::array<int64_t, 2> split_by_least_prime(int64_t length) {
  for (int64_t prime = 2; prime * prime <= length; ++prime)
    if (length % prime == 0) return {length / prime, prime};
  return {1, length};
}

} // namespace tg::tune
