#include "runtime/cuda/codegen/generate.h"

#include "runtime/cuda/codegen/phases.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace tg::cuda {

int64_t Kernel::full_blocks() const {
  if (schedule == KernelSchedule::Tiles) return tiles() * tunables.splits;
  int64_t per_block = shares_rows() ? rows_per_block() : tunables.threads;
  return (iterations + per_block - 1) / per_block;
}

namespace {

/// A shorter row is computed by one thread.
constexpr int64_t kCooperativeRow = 32;
constexpr int kWarp = 32, kMostThreads = 1024;
/// If fewer threads than this would share a row, no threads share rows.
constexpr int kLeastSharers = 4;
/// Limit of the threads of a row, each with one step of it, while all rows run at once.
constexpr uint64_t kMostRowThreads = 256;
/// Columns: the rows of a block, so that a warp reads whole memory lines;
/// the minimum bytes at each position of a row, which is a sector;
/// and a thread count that leaves each thread enough registers for many loads in flight.
constexpr int kMostNeighbours = 32;
constexpr int64_t kLeastNeighbourBytes = 32;
constexpr int kMostColumnThreads = 512;
/// Values that a thread keeps in registers across passes over a row;
/// the largest block has 64 registers per thread.
constexpr int kMostKept = 64, kMostKeptOfLargest = 32;
/// The minimum number of threads of a block of independent elements.
constexpr int kLeastMapThreads = 64;
/// Offsets and iterations below this fit in 32 bits with room for sums.
constexpr int64_t kNarrow = int64_t{1} << 30;

/// The number of blocks that keeps a large GPU busy; if there would be fewer,
/// blocks are made smaller.
constexpr int64_t kEnoughBlocks = 128;
/// Tiles of results: the largest and the smallest size along each side.
constexpr int kLargestTile = 64, kSmallestTile = 16, kTileDepth = 16;
/// The maximum number of blocks of a cluster (supported by every GPU with clusters),
/// and the minimum number of terms for each of them: with fewer,
/// waiting takes longer than the sums.
constexpr int kMostSplits = 8;
constexpr int64_t kLeastSplitTerms = 64;
/// The minimum number of threads of a block down to which tiles of results are divided.
constexpr int kLeastTileThreads = 64;
/// If a factor's elements are used fewer times, or sums are shorter, tiles gain nothing.
constexpr int64_t kLeastSide = kFewRows, kLeastTerms = 16;

/// Returns true for operators in which each result reduces elements of its own, not a row of the
/// domain (products, windows, prefix sums): neighbouring results belong to neighbouring threads.
bool sums_apart(OpKind op) {
  return op == OpKind::Matmul || op == OpKind::Conv2d || op == OpKind::MaxPool2d ||
         op == OpKind::AvgPool2d || op == OpKind::Cumsum;
}

class Generator {
public:
  Generator(const Plan& plan, const Group& group, const StridesOf& strides)
      : plan_(plan), group_(group), strides_(strides), domain_(plan.values[group.results[0]].type) {
  }

  bool analyse(std::string& why) {
    Kernel scratch;
    Puller puller(plan_, group_, strides_, scratch);
    if (!puller.analyse(rows_, why)) return false;
    for (PlanStepId step : group_.steps) plain_ |= sums_apart(plan_.steps[step].op);
    tiles_ = rows_.reduces && find_sides(scratch);
    return true;
  }

  std::unique_ptr<Kernel> best(const Tunables* fixed) {
    if (tiles_)
      if (auto kernel = build_tiles(fixed)) return kernel;
    KernelSchedule schedule = choose_schedule();
    if (fixed) return build(schedule, fixed->vector, fixed);
    std::unique_ptr<Kernel> best;
    double least = std::numeric_limits<double>::infinity();
    for (int vector = widest(schedule); vector >= 1; vector /= 2) {
      auto kernel = build(schedule, vector, nullptr);
      if (double cost = work(*kernel); cost < least) {
        least = cost;
        best = std::move(kernel);
      }
    }
    return best;
  }

private:
  int64_t size(uint32_t axis) const { return domain_.shape[axis]; }

  /// Returns the axes from the largest stride to the smallest.
  llvm::SmallVector<uint32_t, 5> physical_order(bool outer_only) const {
    llvm::SmallVector<uint32_t, 5> axes;
    for (uint32_t axis = 0; axis < domain_.shape.size(); ++axis)
      if (!outer_only || !llvm::is_contained(rows_.axes, axis)) axes.push_back(axis);
    Shape strides = strides_(group_.results[0]);
    std::stable_sort(axes.begin(), axes.end(),
                     [&](uint32_t a, uint32_t b) { return strides[a] > strides[b]; });
    return axes;
  }

  /// Determines which axes of the domain are rows, columns and batches of tiles.
  /// Columns are the axes of the factor that depends on the innermost axis;
  /// rows are those of the other factor alone.
  bool find_sides(const Kernel& analysed) {
    bool one_sum = analysed.stages.size() == 1 && analysed.stages[0].op == ReduceOp::Sum &&
                   analysed.stages[0].scalar == Scalar::Float && rows_.axes.empty();
    if (!one_sum || rows_.length < kLeastTerms) return false;
    const Expr& product = analysed.exprs[analysed.stages[0].values[0]];
    if (product.kind != Expr::Kind::Apply || product.op != OpKind::Mul) return false;
    auto order = physical_order(false);
    while (order.size() > 1 && size(order.back()) == 1) order.pop_back();
    if (order.empty()) return false;
    uint64_t right = analysed.exprs[product.args[0]].variables,
             left = analysed.exprs[product.args[1]].variables;
    if (!(right >> order.back() & 1)) std::swap(left, right);
    int64_t rows = 1, columns = 1;
    for (uint32_t axis : physical_order(false)) {
      bool of_left = left >> axis & 1, of_right = right >> axis & 1;
      sides_[of_left ? (of_right ? kBatch : kRows) : kColumns].push_back(axis);
      (of_left ? rows : columns) *= of_left && of_right ? 1 : size(axis);
    }
    bool known = (right >> order.back() & 1) && !(left >> order.back() & 1);
    return known && rows >= kLeastSide && columns >= kLeastSide;
  }

  int64_t extent(llvm::ArrayRef<uint32_t> axes) const {
    int64_t count = 1;
    for (uint32_t axis : axes) count *= size(axis);
    return count;
  }

  /// Returns null if the factors mix rows and columns after all.
  std::unique_ptr<Kernel> build_tiles(const Tunables* fixed) {
    auto kernel = std::make_unique<Kernel>();
    kernel->schedule = KernelSchedule::Tiles;
    kernel->iterations = extent(sides_[kBatch]);
    kernel->rows = extent(sides_[kRows]);
    kernel->columns = extent(sides_[kColumns]);
    kernel->row = rows_.length;
    choose_tiles(*kernel, fixed);
    Puller puller(plan_, group_, strides_, *kernel);
    IndexPool& pool = kernel->indices;
    llvm::SmallVector<IndexId, 5> index(domain_.shape.size());
    index = place(*kernel, sides_[kBatch], pool.variable(0, kernel->iterations), index);
    index = place(*kernel, sides_[kRows], pool.variable(2, kernel->rows), index);
    index = place(*kernel, sides_[kColumns], pool.variable(3, kernel->columns), index);
    puller.set_inner({pool.variable(1, kernel->row)}, kernel->row);
    for (uint32_t r = 0; r < group_.results.size(); ++r)
      kernel->stores.push_back({r,
                                true,
                                {pool.offset(index, strides_(group_.results[r]))},
                                {puller.pull(group_.results[r], index, kAlways)}});
    const Expr& product = kernel->exprs[kernel->stages[0].values[0]];
    kernel->left = product.args[0];
    kernel->right = product.args[1];
    auto knows = [&](ExprId id, int variable) {
      return kernel->exprs[id].variables >> variable & 1;
    };
    if (knows(kernel->left, 3)) std::swap(kernel->left, kernel->right);
    if (knows(kernel->left, 3) || knows(kernel->right, 2)) return nullptr;
    note_width(*kernel);
    return kernel;
  }

  /// Divides the terms, and then makes tiles smaller, until there are enough blocks.
  /// Then gives each thread as few results as needed for enough threads.
  static void choose_tiles(Kernel& kernel, const Tunables* fixed) {
    Tunables& t = kernel.tunables;
    t.depth = kTileDepth;
    t.tile_rows = t.tile_columns = kLargestTile;
    auto shrink = [](int& tile, int64_t extent) {
      while (tile > kSmallestTile && tile / 2 >= extent) tile /= 2;
    };
    shrink(t.tile_rows, kernel.rows);
    shrink(t.tile_columns, kernel.columns);
    while (kernel.full_blocks() < kEnoughBlocks && t.splits < kMostSplits &&
           kernel.row / (2 * t.splits) >= kLeastSplitTerms)
      t.splits *= 2;
    while (kernel.full_blocks() < kEnoughBlocks &&
           std::max(t.tile_rows, t.tile_columns) > kSmallestTile)
      (t.tile_rows >= t.tile_columns ? t.tile_rows : t.tile_columns) /= 2;
    t.own_rows = t.own_columns = 4;
    if (fixed) t = *fixed;
    while (!fixed &&
           t.tile_rows * t.tile_columns / (t.own_rows * t.own_columns) < kLeastTileThreads)
      (t.own_rows >= t.own_columns ? t.own_rows : t.own_columns) /= 2;
    t.threads = t.tile_rows / t.own_rows * (t.tile_columns / t.own_columns);
  }

  /// Threads share rows if rows are long and few and their elements are contiguous
  /// and not also those of many other rows (as in a product of many rows).
  KernelSchedule choose_schedule() {
    if (!rows_.reduces) return KernelSchedule::Map;
    if (rows_.length < kCooperativeRow) return KernelSchedule::Serial;
    auto kernel = build(KernelSchedule::Rows, 1, nullptr);
    bool few = sharers(kernel->iterations, kernel->row) >= kLeastSharers;
    if (reads_along_rows(*kernel))
      return few || !plain_ ? KernelSchedule::Rows : KernelSchedule::Serial;
    return few ? KernelSchedule::Columns : KernelSchedule::Serial;
  }

  /// Returns the number of threads for one of `rows` rows, a power of two;
  /// each thread has at least two terms.
  static int sharers(int64_t rows, int64_t row) {
    int64_t most = std::clamp<int64_t>(std::min(kEnoughThreads / rows, row / 2), 1, kMostThreads);
    return static_cast<int>(std::bit_floor(static_cast<uint64_t>(most)));
  }

  /// Returns true if most of the elements read have their neighbour at the next position
  /// in the row.
  bool reads_along_rows(const Kernel& kernel) const {
    int64_t near = 0, far = 0;
    for (const Stage& stage : kernel.stages)
      for (ExprId id : reachable(kernel, stage.values, {}))
        if (const Expr& e = kernel.exprs[id]; e.kind == Expr::Kind::Load && (e.variables & 2))
          (contiguous(kernel, e.index) ? near : far) +=
              plan_.values[kernel.parameters[e.parameter].value].type.elements();
    return near >= far;
  }

  /// Returns true if neighbours in the row are neighbours in memory.
  static bool contiguous(const Kernel& kernel, IndexId index) {
    for (const IndexTerm& term : kernel.indices.form(index).terms) {
      const IndexAtom& atom = kernel.indices.atom(term.atom);
      if (atom.kind == IndexAtom::Kind::Variable && atom.of == 1) return term.factor == 1;
      if (atom.kind == IndexAtom::Kind::Remainder && term.factor == 1 &&
          (kernel.indices.form(atom.of).variables & 2))
        return true;
    }
    return false;
  }

  int widest(KernelSchedule schedule) const {
    if (schedule == KernelSchedule::Serial) return 1;
    int64_t count = schedule == KernelSchedule::Map ? domain_.elements() : rows_.length;
    int vector = static_cast<int>(16 / std::max<int64_t>(2, dtype_size(domain_.dtype)));
    while (count % vector != 0) vector /= 2;
    return vector;
  }

  std::unique_ptr<Kernel> build(KernelSchedule schedule, int vector, const Tunables* fixed) {
    auto kernel = std::make_unique<Kernel>();
    kernel->schedule = schedule;
    kernel->tunables.vector = vector;
    Puller puller(plan_, group_, strides_, *kernel);
    auto lanes = schedule == KernelSchedule::Map ? map_lanes(*kernel) : row_lanes(*kernel, puller);
    for (uint32_t r = 0; r < group_.results.size(); ++r) {
      Store store{r, schedule != KernelSchedule::Map && rows_.axes.empty(), {}, {}};
      for (llvm::ArrayRef<IndexId> index : lanes) {
        store.indices.push_back(kernel->indices.offset(index, strides_(group_.results[r])));
        store.values.push_back(puller.pull(group_.results[r], index, kAlways));
        if (store.per_row) break;
      }
      kernel->stores.push_back(std::move(store));
    }
    choose_threads(*kernel, fixed);
    note_width(*kernel);
    return kernel;
  }

  void note_width(Kernel& kernel) const {
    int64_t largest = domain_.elements();
    for (const KernelParameter& p : kernel.parameters)
      largest = std::max(largest, plan_.values[p.value].type.elements());
    kernel.wide_indices = largest >= kNarrow || kernel.iterations * kernel.row >= kNarrow;
  }

  using Lanes = std::vector<llvm::SmallVector<IndexId, 5>>;

  /// Returns the domain indices of the elements that one iteration computes.
  Lanes map_lanes(Kernel& kernel) {
    int vector = kernel.tunables.vector;
    kernel.iterations = domain_.elements() / vector;
    IndexId first = kernel.indices.scale(kernel.indices.variable(0, kernel.iterations), vector);
    auto order = physical_order(false);
    Lanes lanes;
    for (int lane = 0; lane < vector; ++lane)
      lanes.push_back(place(kernel, order, kernel.indices.shift(first, lane),
                            llvm::SmallVector<IndexId, 5>(domain_.shape.size())));
    return lanes;
  }

  Lanes row_lanes(Kernel& kernel, Puller& puller) {
    int vector = kernel.tunables.vector;
    auto order = physical_order(true);
    kernel.iterations = 1;
    for (uint32_t axis : order) kernel.iterations *= size(axis);
    kernel.row = rows_.length / vector;
    auto outer = place(kernel, order, kernel.indices.variable(0, kernel.iterations),
                       llvm::SmallVector<IndexId, 5>(domain_.shape.size()));
    IndexId first = kernel.indices.scale(kernel.indices.variable(1, kernel.row), vector);
    llvm::SmallVector<IndexId, 8> positions;
    Lanes lanes;
    for (int lane = 0; lane < vector; ++lane) {
      positions.push_back(kernel.indices.shift(first, lane));
      lanes.push_back(place(kernel, rows_.axes, positions.back(), outer));
    }
    puller.set_inner(positions, rows_.length);
    return lanes;
  }

  llvm::SmallVector<IndexId, 5> place(Kernel& kernel, llvm::ArrayRef<uint32_t> axes,
                                      IndexId position, llvm::SmallVector<IndexId, 5> index) {
    Shape sizes;
    for (uint32_t axis : axes) sizes.push_back(size(axis));
    auto split = kernel.indices.split(position, sizes);
    for (size_t i = 0; i < axes.size(); ++i) index[axes[i]] = split[i];
    return index;
  }

  static void share_columns(Kernel& kernel) {
    int neighbours = kMostNeighbours;
    auto least = kLeastNeighbourBytes / dtype_size(kernel.parameters[0].dtype);
    while (kernel.iterations / neighbours < kEnoughBlocks && neighbours > least) neighbours /= 2;
    Tunables& t = kernel.tunables;
    t.row_threads =
        std::min(sharers(kernel.iterations, kernel.row), kMostColumnThreads / neighbours);
    t.threads = neighbours * t.row_threads;
  }

  /// Returns a thread count with a quarter of a row's steps per thread,
  /// or one step if all rows run at once. Uses one warp instead of two,
  /// because a barrier takes longer than the second step.
  static int threads_of_row(const Kernel& kernel) {
    auto row = static_cast<uint64_t>(kernel.row);
    auto many = std::clamp<uint64_t>(std::bit_ceil(row), kWarp, kMostRowThreads);
    bool fit = row > 2 * kWarp && kernel.iterations * static_cast<int64_t>(many) <= kEnoughThreads;
    auto some = std::clamp<uint64_t>(std::bit_ceil((row + 3) / 4), kWarp, kMostThreads);
    return static_cast<int>(fit ? std::max(some, many) : some);
  }

  /// Makes blocks smaller while there are too few of them.
  static void spread(Kernel& kernel, int least) {
    while (kernel.tunables.threads > least && kernel.full_blocks() < kEnoughBlocks)
      kernel.tunables.threads /= 2;
  }

  static void choose_threads(Kernel& kernel, const Tunables* fixed) {
    Tunables& t = kernel.tunables;
    t.threads = kernel.schedule == KernelSchedule::Map ? 256 : 128;
    if (kernel.schedule == KernelSchedule::Columns) share_columns(kernel);
    if (kernel.schedule == KernelSchedule::Rows) t.row_threads = threads_of_row(kernel);
    if (kernel.schedule == KernelSchedule::Map) spread(kernel, kLeastMapThreads);
    if (kernel.schedule == KernelSchedule::Rows && t.row_threads < t.threads)
      spread(kernel, t.row_threads);
    if (fixed) {
      t.threads = fixed->threads;
      t.row_threads = kernel.shares_rows() ? fixed->row_threads : 1;
    }
    if (!kernel.shares_rows()) return;
    if (kernel.schedule == KernelSchedule::Rows && t.row_threads > kWarp)
      t.threads = t.row_threads; // a barrier covers all threads of a block
    t.threads = std::max(t.threads, t.row_threads);
    auto steps = (kernel.row + t.row_threads - 1) / t.row_threads;
    auto values = static_cast<int64_t>(plan_phases(kernel).kept.size());
    int most = t.threads == kMostThreads ? kMostKeptOfLargest : kMostKept;
    t.kept = steps * std::max<int64_t>(values, 1) <= most ? static_cast<int>(steps) : 0;
  }

  /// Returns roughly the memory instructions and divisions per element,
  /// which differ between vector widths.
  static double work(Kernel& kernel) {
    std::set<ExprId> all;
    for (const Pass& pass : plan_phases(kernel).passes)
      for (ExprId id : reachable(kernel, roots_of(kernel, pass), {})) all.insert(id);
    std::map<ExprId, Pack> packed = find_packs(kernel, all);
    std::set<uint32_t> divisions;
    double cost = 0;
    for (ExprId id : all) {
      const Expr& expr = kernel.exprs[id];
      if (expr.kind != Expr::Kind::Load) continue;
      auto it = packed.find(id);
      cost += it == packed.end() ? 1 : it->second.leader == id ? 1 : 0;
      for (const IndexTerm& term : kernel.indices.form(expr.index).terms)
        if (IndexAtom::Kind kind = kernel.indices.atom(term.atom).kind;
            kind == IndexAtom::Kind::Quotient || kind == IndexAtom::Kind::Remainder)
          divisions.insert(term.atom);
    }
    for (const Store& store : kernel.stores) {
      int width = pack_width(kernel.parameters[store.parameter].dtype, kernel.tunables.vector);
      cost += packs(kernel, store, 0, width) ? static_cast<double>(store.indices.size()) / width
                                             : static_cast<double>(store.indices.size());
    }
    return (cost + static_cast<double>(divisions.size())) / kernel.tunables.vector;
  }

  const Plan& plan_;
  const Group& group_;
  const StridesOf& strides_;
  const TensorType& domain_;
  Rows rows_;
  bool plain_ = false, tiles_ = false;
  enum Side : size_t { kBatch, kRows, kColumns };
  llvm::SmallVector<uint32_t, 5> sides_[3]; // axes of the domain, in physical order
};

} // namespace

std::unique_ptr<Kernel> generate(const Plan& plan, const Group& group, const StridesOf& strides,
                                 std::string& why, const Tunables* fixed) {
  Generator generator(plan, group, strides);
  if (!generator.analyse(why)) return nullptr;
  return generator.best(fixed);
}

} // namespace tg::cuda
