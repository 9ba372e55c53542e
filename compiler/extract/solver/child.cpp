// CLP solves the linear relaxation first; it bounds the optimum and is sent at once. Then CBC
// searches from the given start. Its limit is a little before the real one, so that it can still
// return its best solution. It often does not stop; then the parent kills it.
#include "compiler/extract/solver/child.h"

#include "lang/core/support/pipe_io.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tg {

namespace {

/// Appends arrays and single numbers to a block of bytes.
void append(std::vector<char>& bytes, const void* data, size_t size) {
  const char* begin = static_cast<const char*>(data);
  bytes.insert(bytes.end(), begin, begin + size);
}

/// Packs lists, each after its length. Memory is reserved at once, since programs are large.
template <class... Items> std::vector<char> packed(const std::vector<Items>&... lists) {
  std::vector<char> bytes;
  bytes.reserve((... + (sizeof(uint64_t) + lists.size() * sizeof(Items))));
  auto add = [&](const auto& list) {
    uint64_t count = list.size();
    append(bytes, &count, sizeof count);
    append(bytes, list.data(), count * sizeof list[0]);
  };
  (add(lists), ...);
  return bytes;
}

struct Unpacker {
  llvm::ArrayRef<char> rest;

  template <class T> bool take(std::vector<T>& items) {
    uint64_t count = 0;
    if (rest.size() < sizeof count) return false;
    std::memcpy(&count, rest.data(), sizeof count);
    rest = rest.drop_front(sizeof count);
    if (count > rest.size() / sizeof(T)) return false;
    items.resize(count);
    if (count > 0) std::memcpy(items.data(), rest.data(), count * sizeof(T));
    rest = rest.drop_front(count * sizeof(T));
    return true;
  }
};

/// Returns false if the parent is gone.
bool send_message(int fd, SolverMessage::Kind kind, const void* data, size_t size) {
  SolverMessage header{kind, 0, size};
  return write_all(fd, &header, sizeof header) && write_all(fd, data, size);
}

/// The matrix by columns, as CBC and CLP expect it.
struct ColumnMatrix {
  std::vector<CoinBigIndex> start;
  std::vector<int> row;
  std::vector<double> value;

  explicit ColumnMatrix(const MipModel& model)
      : start(model.columns() + 1), row(model.entries.size()), value(model.entries.size()) {
    for (const MipModel::Entry& entry : model.entries) ++start[entry.column + 1];
    for (size_t c = 0; c < model.columns(); ++c) start[c + 1] += start[c];
    std::vector<CoinBigIndex> next(start.begin(), start.end() - 1);
    for (size_t r = 0; r < model.rows(); ++r) {
      for (uint32_t i = model.row_start[r]; i < model.row_start[r + 1]; ++i) {
        CoinBigIndex at = next[model.entries[i].column]++;
        row[at] = static_cast<int>(r);
        value[at] = model.entries[i].value;
      }
    }
  }
};

void apply_limits(const SolverLimits& limits) {
  // The parent kills the child on time; these limits hold even if it cannot.
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  rlimit cpu{static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 static_cast<rlim_t>(std::ceil(std::min(limits.search.seconds, 1e8))) + 3,
             RLIM_INFINITY};
  setrlimit(RLIMIT_CPU, &cpu);
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
#ifndef __SANITIZE_ADDRESS__ // AddressSanitizer maps terabytes of shadow memory
  if (limits.memory_bytes > 0) {
    rlimit memory{limits.memory_bytes, limits.memory_bytes};
    setrlimit(RLIMIT_AS, &memory);
  }
#endif
}

enum class Relaxed { Optimal, Infeasible, Unknown };

Relaxed solve_relaxation(int fd, const MipModel& model, const ColumnMatrix& matrix, double& bound) {
  Clp_Simplex* clp = Clp_newModel();
  Clp_setLogLevel(clp, 0);
  Clp_loadProblem(clp, static_cast<int>(model.columns()), static_cast<int>(model.rows()),
                  matrix.start.data(), matrix.row.data(), matrix.value.data(), model.lower.data(),
                  model.upper.data(), model.objective.data(), model.row_lower.data(),
                  model.row_upper.data());
  Clp_initialSolve(clp);
  Relaxed verdict = Relaxed::Unknown;
  if (Clp_isProvenPrimalInfeasible(clp)) verdict = Relaxed::Infeasible;
  if (Clp_isProvenOptimal(clp)) {
    verdict = Relaxed::Optimal;
    bound = Clp_objectiveValue(clp);
    send_message(fd, SolverMessage::Kind::Bound, &bound, sizeof bound);
    send_message(fd, SolverMessage::Kind::Relaxation, Clp_primalColumnSolution(clp),
                 model.columns() * sizeof(double));
  }
  Clp_deleteModel(clp);
  return verdict;
}

Cbc_Model* make_cbc(const MipModel& model, const ColumnMatrix& matrix) {
  Cbc_Model* cbc = Cbc_newModel();
  Cbc_setLogLevel(cbc, 0);
  Cbc_loadProblem(cbc, static_cast<int>(model.columns()), static_cast<int>(model.rows()),
                  matrix.start.data(), matrix.row.data(), matrix.value.data(), model.lower.data(),
                  model.upper.data(), model.objective.data(), model.row_lower.data(),
                  model.row_upper.data());
  std::vector<int> index;
  std::vector<double> value;
  for (size_t c = 0; c < model.columns(); ++c) {
    if (model.integer[c]) Cbc_setInteger(cbc, static_cast<int>(c));
    if (!model.integer[c] || model.start.empty()) continue;
    index.push_back(static_cast<int>(c));
    value.push_back(model.start[c]);
  }
  if (!index.empty())
    Cbc_setMIPStartI(cbc, static_cast<int>(index.size()), index.data(), value.data());
  return cbc;
}

MipStatus solve_integer(int fd, const MipModel& model, const ColumnMatrix& matrix, double seconds) {
  constexpr double kShareOfTime = 0.85;
  Cbc_Model* cbc = make_cbc(model, matrix);
  Cbc_setMaximumSeconds(cbc, seconds * kShareOfTime);
  Cbc_setAllowableFractionGap(cbc, 0);
  Cbc_setAllowableGap(cbc, 1e-9);
  Cbc_solve(cbc);
  if (Cbc_isProvenInfeasible(cbc)) return MipStatus::Infeasible;
  double bound = Cbc_getBestPossibleObjValue(cbc);
  bool optimal = Cbc_isProvenOptimal(cbc) != 0;
  const double* solution = Cbc_numberSavedSolutions(cbc) > 0 ? Cbc_bestSolution(cbc) : nullptr;
  if (!solution && optimal) solution = Cbc_getColSolution(cbc); // solved by preprocessing alone
  if (optimal) bound = Cbc_getObjValue(cbc);
  if (std::abs(bound) < 1e40) send_message(fd, SolverMessage::Kind::Bound, &bound, sizeof bound);
  if (solution)
    send_message(fd, SolverMessage::Kind::Solution, solution, model.columns() * sizeof(double));
  return optimal && solution ? MipStatus::Optimal : MipStatus::Stopped;
}

/// Returns true for a program without integers, whose optimum is that of its relaxation.
bool all_continuous(const MipModel& model) {
  return llvm::none_of(model.integer, [](uint8_t integer) { return integer != 0; });
}

MipStatus solve_model(int fd, llvm::ArrayRef<char> bytes, const SolverLimits& limits) {
  MipModel model;
  if (!unpack(bytes, model)) return MipStatus::Failed;
  ColumnMatrix matrix(model);
  double bound = -kNoBound;
  Relaxed relaxed = solve_relaxation(fd, model, matrix, bound);
  if (relaxed == Relaxed::Infeasible) return MipStatus::Infeasible;
  if (relaxed == Relaxed::Optimal && all_continuous(model)) return MipStatus::Optimal;
  return solve_integer(fd, model, matrix, search_seconds(model, bound, limits.search.seconds));
}

/// Solves a SearchProblem. Choices are returned as columns of nodes, like a program's solution.
MipStatus solve_problem(int fd, llvm::ArrayRef<char> bytes, const SolverLimits& limits) {
  SearchProblem search;
  if (!unpack(bytes, search) || search.head.size() != 2) return MipStatus::Failed;
  ExtractionProblem problem = from_search(search);
  auto send_choice = [&](const Choice& choice, double) {
    std::vector<double> columns(problem.node_count());
    for (NodeIx node : choice.node)
      if (node.valid()) columns[node.index] = 1;
    send_message(fd, SolverMessage::Kind::Solution, columns.data(),
                 columns.size() * sizeof(double));
  };
  auto send_bound = [&](double bound) {
    send_message(fd, SolverMessage::Kind::Bound, &bound, sizeof bound);
  };
  BranchCutResult result =
      branch_and_cut(problem, search.head[1], limits.search, {send_choice, send_bound});
  return result.proven ? MipStatus::Optimal : MipStatus::Stopped;
}

} // namespace

SearchProblem to_search(const ExtractionProblem& problem, double cutoff) {
  SearchProblem out;
  out.head = {static_cast<double>(problem.class_count()), cutoff};
  out.child_start.push_back(0);
  for (uint32_t n = 0; n < problem.node_count(); ++n) {
    out.node_class.push_back(problem.class_of({n}).index);
    out.cost.push_back(problem.usable({n}) ? problem.cost({n}) : kInfiniteCost);
    for (ClassIx child : problem.children({n})) out.children.push_back(child.index);
    out.child_start.push_back(static_cast<uint32_t>(out.children.size()));
  }
  for (ClassIx root : problem.roots()) out.roots.push_back(root.index);
  return out;
}

ExtractionProblem from_search(const SearchProblem& search) {
  ExtractionProblem problem;
  for (double c = 0; c < search.head[0]; ++c) problem.add_class();
  llvm::SmallVector<ClassIx, 8> children;
  for (uint32_t n = 0; n < search.node_class.size(); ++n) {
    children.clear();
    for (uint32_t i = search.child_start[n]; i < search.child_start[n + 1]; ++i)
      children.push_back({search.children[i]});
    problem.add_node({search.node_class[n]}, search.cost[n], children);
  }
  for (uint32_t root : search.roots) problem.add_root({root});
  problem.seal();
  return problem;
}

std::vector<char> pack(const SearchProblem& search) {
  return packed(search.node_class, search.child_start, search.children, search.roots, search.cost,
                search.head);
}

bool unpack(llvm::ArrayRef<char> bytes, SearchProblem& search) {
  Unpacker from{bytes};
  return from.take(search.node_class) && from.take(search.child_start) &&
         from.take(search.children) && from.take(search.roots) && from.take(search.cost) &&
         from.take(search.head) && from.rest.empty();
}

double search_seconds(const MipModel& model, double bound, double seconds) {
  constexpr double kHopeless = 0.5, kShareOfHopeless = 0.1;
  if (model.start.empty() || bound == -kNoBound) return seconds;
  double start = 0;
  for (size_t c = 0; c < model.columns(); ++c) start += model.start[c] * model.objective[c];
  return bound < kHopeless * start ? kShareOfHopeless * seconds : seconds;
}

std::vector<char> pack(const MipModel& model) {
  return packed(model.objective, model.lower, model.upper, model.integer, model.row_lower,
                model.row_upper, model.row_start, model.entries, model.start);
}

bool unpack(llvm::ArrayRef<char> bytes, MipModel& model) {
  Unpacker from{bytes};
  return from.take(model.objective) && from.take(model.lower) && from.take(model.upper) &&
         from.take(model.integer) && from.take(model.row_lower) && from.take(model.row_upper) &&
         from.take(model.row_start) && from.take(model.entries) && from.take(model.start) &&
         from.rest.empty();
}

int solver_child_main(int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // a solver does not outlive its parent
  std::signal(SIGPIPE, SIG_IGN);
  int null = open("/dev/null", O_RDWR);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (null >= 0 && fd != stream) dup2(null, stream);
  send_message(fd, SolverMessage::Kind::Hello, &kSolverProtocol, sizeof kSolverProtocol);

  SolverMessage header;
  SolverLimits limits;
  while (read_all(fd, &header, sizeof header)) {
    if (!read_all(fd, &limits, sizeof limits)) return 1;
    apply_limits(limits);
    if (!read_all(fd, &header, sizeof header)) return 1;
    std::vector<char> bytes(header.bytes);
    if (!read_all(fd, bytes.data(), bytes.size())) return 1;
    MipStatus status = header.kind == SolverMessage::Kind::Problem
                           ? solve_problem(fd, bytes, limits)
                           : solve_model(fd, bytes, limits);
    if (status == MipStatus::Failed) return 1;
    send_message(fd, SolverMessage::Kind::Done, &status, sizeof status);
  }
  return 0;
}

} // namespace tg
