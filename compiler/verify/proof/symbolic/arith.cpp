#include "compiler/verify/proof/symbolic/arith.h"

#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#ifdef TG_HAVE_Z3
#include <llvm/Support/ErrorHandling.h>
#include <z3.h>
#endif

namespace tg::proof {

#ifdef TG_HAVE_Z3

bool have_solver() { return true; }

/// Solves each query from scratch, since queries are small. A query is limited in Z3's own unit of
/// work, so that answers do not depend on the machine. Running out of memory ends the program, as
/// elsewhere.
class Z3 {
public:
  static constexpr const char* kResources = "200000"; // limit per query, in Z3's own unit of work

  Z3() {
    Z3_config config = Z3_mk_config();
    Z3_set_param_value(config, "rlimit", kResources);
    context = Z3_mk_context(config);
    Z3_del_config(config);
    if (!context) llvm::report_bad_alloc_error("Z3 has no memory");
    Z3_set_error_handler(context, [](Z3_context, Z3_error_code code) {
      if (code == Z3_MEMOUT_FAIL) llvm::report_bad_alloc_error("Z3 has no memory");
    });
    integers = Z3_mk_int_sort(context);
    solver = Z3_mk_simple_solver(context);
    Z3_solver_inc_ref(context, solver);
  }
  ~Z3() {
    Z3_solver_dec_ref(context, solver);
    Z3_del_context(context);
  }
  Z3(const Z3&) = delete;
  Z3& operator=(const Z3&) = delete;

  Z3_ast number(int64_t n) { return Z3_mk_int64(context, n, integers); }

  Z3_ast unknown(const std::vector<Sym>& symbols) {
    std::string name;
    for (Sym s : symbols) name += "*" + std::to_string(s);
    return Z3_mk_const(context, Z3_mk_string_symbol(context, name.c_str()), integers);
  }

  Z3_ast value(const Poly& p) {
    std::vector<Z3_ast> parts = {number(0)};
    for (const auto& [symbols, n] : p.terms()) {
      if (symbols.empty()) {
        parts.push_back(number(n));
        continue;
      }
      Z3_ast product[2] = {number(n), unknown(symbols)};
      parts.push_back(n == 1 ? product[1] : Z3_mk_mul(context, 2, product));
    }
    return Z3_mk_add(context, static_cast<unsigned>(parts.size()), parts.data());
  }

  void add(const Fact& fact) {
    Z3_ast p = value(fact.p), zero = number(0);
    Z3_ast formula =
        fact.kind == Fact::Kind::Ge ? Z3_mk_ge(context, p, zero) : Z3_mk_eq(context, p, zero);
    if (fact.kind == Fact::Kind::Ne) formula = Z3_mk_not(context, formula);
    Z3_solver_assert(context, solver, formula);
  }

  /// Returns true if the facts contradict each other; otherwise sets values for their
  /// symbols, if found.
  bool contradictory(llvm::ArrayRef<Fact> facts, std::map<Sym, int64_t>& values) {
    Z3_solver_reset(context, solver);
    for (const Fact& fact : facts) add(fact);
    Z3_lbool answer = Z3_solver_check(context, solver);
    if (answer != Z3_L_TRUE) return answer == Z3_L_FALSE;
    Z3_model model = Z3_solver_get_model(context, solver);
    Z3_model_inc_ref(context, model);
    for (const Fact& fact : facts)
      for (const auto& term : fact.p.terms())
        for (Sym s : term.first) {
          Z3_ast value = nullptr;
          int64_t n = 0;
          if (values.count(s) || !Z3_model_eval(context, model, unknown({s}), true, &value))
            continue;
          if (Z3_get_numeral_int64(context, value, &n)) values[s] = n;
        }
    Z3_model_dec_ref(context, model);
    return false;
  }

  Z3_context context;
  Z3_sort integers;
  Z3_solver solver;
};

#else

bool have_solver() { return false; }

class Z3 {
public:
  bool contradictory(llvm::ArrayRef<Fact>, std::map<Sym, int64_t>&) { return false; }
};

#endif

namespace {

struct HashFacts {
  size_t operator()(const std::vector<Fact>& facts) const {
    llvm::hash_code hash = facts.size();
    for (const Fact& fact : facts) {
      hash = llvm::hash_combine(hash, fact.kind);
      for (const auto& [symbols, n] : fact.p.terms())
        hash =
            llvm::hash_combine(hash, n, llvm::hash_combine_range(symbols.begin(), symbols.end()));
    }
    return hash;
  }
};

} // namespace

/// Caches answers: the cases of a rule begin alike and repeat queries.
class Solver {
public:
  struct Answer {
    bool contradictory = false;
    std::map<Sym, int64_t> model; // of some symbols; empty if none was found
  };
  /// Returns null for a new query.
  const Answer* known(const std::vector<Fact>& facts) const {
    auto at = answers_.find(facts);
    return at == answers_.end() ? nullptr : &at->second;
  }
  const Answer& query(const std::vector<Fact>& facts) {
    Answer answer;
    answer.contradictory = z3_.contradictory(facts, answer.model);
    return answers_.emplace(facts, std::move(answer)).first->second;
  }

private:
  Z3 z3_;
  std::unordered_map<std::vector<Fact>, Answer, HashFacts> answers_;
};

std::shared_ptr<Solver> make_solver() { return std::make_shared<Solver>(); }

Arith::Arith(std::shared_ptr<Solver> solver, size_t budget)
    : budget_(budget), solver_(std::move(solver)) {}
Arith::~Arith() = default;

Sym Arith::fresh(std::optional<int64_t> least) {
  least_.push_back(least);
  return static_cast<Sym>(least_.size() - 1);
}

Poly Arith::normal(const Poly& p) const {
  Poly result = p;
  for (const auto& [symbol, value] : known_)
    if (result.has(symbol)) result = result.replaced(symbol, value);
  return result;
}

/// Divides by the common divisor, by symbols of at least 1 that are in all products, and by sums
/// that such a symbol denotes: n * C == C implies n == 1, and likewise for > 0 and != 0.
Poly Arith::cancelled(Poly p) const {
  int64_t divisor = 0;
  for (const auto& term : p.terms()) divisor = std::gcd(divisor, term.second);
  if (divisor > 1) p = p.over(divisor);
  for (Sym s = 0; s < least_.size() && !p.terms().empty(); ++s) {
    if (least_[s].value_or(0) < 1) continue;
    while (llvm::all_of(p.terms(), [s](const auto& t) { return llvm::is_contained(t.first, s); }))
      p = p.divided(s);
  }
  for (const auto& [s, sum] : known_) {
    if (least_[s].value_or(0) < 1 || sum.terms().size() < 2) continue;
    while (p.terms().size() >= sum.terms().size()) {
      std::optional<Poly> less = p.quotient(sum);
      if (!less) break;
      p = std::move(*less);
    }
  }
  return p;
}

/// Assumes a fact. An equality with a symbol that occurs alone with coefficient 1 or -1 defines
/// that symbol; among several the latest, so that derived symbols are replaced by those they derive
/// from. If a product of sizes is 1, each size is 1.
void Arith::assume(const Fact& fact) {
  std::vector<Fact> open = {fact};
  while (!open.empty()) {
    Fact next{open.back().kind, cancelled(normal(open.back().p))};
    open.pop_back();
    if (!next.p.valid()) {
      budget_ = 0;
      continue;
    }
    facts_.push_back(next);
    if (next.kind != Fact::Kind::Eq) continue;
    std::optional<Sym> symbol;
    for (const auto& [symbols, n] : next.p.terms())
      if (symbols.size() == 1 && (n == 1 || n == -1) && next.p.lone_coefficient(symbols[0]) == n)
        symbol = std::max(symbol.value_or(0), symbols[0]);
    if (symbol) {
      Poly rest = next.p - Poly(next.p.lone_coefficient(*symbol)) * Poly::of(*symbol);
      define(*symbol, rest * Poly(-next.p.lone_coefficient(*symbol)));
      take_equalities(open); // some may now define another symbol
    } else if (std::vector<Sym> ones = factors_of_one(next.p); !ones.empty()) {
      for (Sym s : ones) open.push_back({Fact::Kind::Eq, Poly::of(s) - 1});
    }
  }
}

/// If p == 0 states that a product of sizes is 1, returns the sizes; otherwise an empty list.
std::vector<Sym> Arith::factors_of_one(const Poly& p) const {
  if (p.terms().size() != 2 || !p.terms()[0].first.empty()) return {};
  if (p.terms()[0].second != -p.terms()[1].second) return {};
  std::vector<Sym> symbols = p.terms()[1].first;
  bool sizes = llvm::all_of(symbols, [&](Sym s) { return least_[s].value_or(0) >= 1; });
  return sizes ? symbols : std::vector<Sym>();
}

/// Moves the equalities that can be reduced further to the list.
void Arith::take_equalities(std::vector<Fact>& open) {
  llvm::erase_if(facts_, [&](const Fact& fact) {
    bool changes = fact.kind == Fact::Kind::Eq && !(cancelled(fact.p) == fact.p);
    if (changes) open.push_back(fact);
    return changes;
  });
}

void Arith::define(Sym symbol, const Poly& value) {
  for (auto& entry : known_)
    if (entry.second.has(symbol)) entry.second = entry.second.replaced(symbol, value);
  known_.emplace(symbol, value);
  for (Fact& fact : facts_)
    if (fact.p.has(symbol)) fact.p = fact.p.replaced(symbol, value);
  // A replaced symbol keeps its bound.
  if (least_[symbol]) facts_.push_back(at_least(value, *least_[symbol]));
  llvm::erase_if(facts_, [&](const Fact& fact) { return follows_from_bounds(fact); });
}

/// Returns true if a fact follows from the lower bounds of its symbols: all coefficients are
/// nonnegative and the constant is large enough.
bool Arith::follows_from_bounds(const Fact& fact) const {
  if (std::optional<int64_t> n = fact.p.constant())
    return fact.kind == Fact::Kind::Ge ? *n >= 0 : (*n == 0) == (fact.kind == Fact::Kind::Eq);
  if (fact.kind != Fact::Kind::Ge) return false;
  int64_t low = 0;
  for (const auto& [symbols, n] : fact.p.terms()) {
    int64_t least = 1, part = 0;
    for (Sym s : symbols) {
      if (!least_[s] || *least_[s] < 0) return false;
      least = std::min<int64_t>(least * *least_[s], INT32_MAX);
    }
    if (n < 0 && !symbols.empty()) return false;
    if (__builtin_mul_overflow(n, least, &part) || __builtin_add_overflow(low, part, &low))
      return false;
  }
  return low >= 0;
}

bool Arith::follows_always(const Fact& fact) {
  std::vector<Fact> context = std::move(context_);
  context_.clear();
  bool answer = follows(fact);
  context_ = std::move(context);
  return answer;
}

bool Arith::follows(const Fact& fact) {
  Fact goal{fact.kind, cancelled(normal(fact.p))};
  if (!goal.p.valid()) return budget_ = 0, false; // after an overflow nothing is proved
  if (follows_from_bounds(goal)) return true;
  if (goal.p.constant()) { // false, so it follows only from a contradiction
    return false;
  }
  return query(negated(goal));
}

bool Arith::consistent() { return !query({}); }

/// Returns the known facts, the context, and the bounds of their symbols.
std::vector<Fact> Arith::everything(llvm::ArrayRef<Fact> more) const {
  std::vector<Fact> all = facts_;
  for (const Fact& fact : context_) all.push_back({fact.kind, normal(fact.p)});
  all.insert(all.end(), more.begin(), more.end());
  add_products(all);
  std::map<std::vector<Sym>, bool> seen;
  for (const Fact& fact : all)
    for (const auto& term : fact.p.terms())
      if (!term.first.empty()) seen.emplace(term.first, true);
  for (const auto& [symbols, unused] : seen) {
    int64_t least = 1;
    for (Sym s : symbols) {
      int64_t low = least_[s].value_or(-1);
      least = low < 0 || least < 0 ? -1 : std::min<int64_t>(least * low, INT32_MAX);
    }
    if (least < 0) continue;
    Poly product = 1;
    for (Sym s : symbols) product = product * Poly::of(s);
    all.push_back(at_least(product, least));
  }
  return all;
}

/// Adds facts about products that linear arithmetic cannot derive: i < n gives i * s <= n * s - s
/// for nonnegative s, and 0 <= i gives 0 <= i * s. For products that occur, and bounds of indices.
void Arith::add_products(std::vector<Fact>& facts) const {
  constexpr size_t kMost = 32;
  std::vector<std::vector<Sym>> products;
  for (const Fact& fact : facts)
    for (const auto& term : fact.p.terms())
      if (term.first.size() > 1 && !llvm::is_contained(products, term.first))
        products.push_back(term.first);
  if (products.empty()) return;
  std::vector<Fact> more;
  for (const Fact& fact : facts) {
    llvm::ArrayRef<Poly::Term> terms = fact.p.terms();
    bool bound = fact.kind == Fact::Kind::Ge && terms.size() <= 3 &&
                 llvm::all_of(terms, [](const auto& term) { return term.first.size() <= 1; });
    if (!bound) continue;
    for (const Poly::Term& term : terms) {
      if (term.first.empty()) continue;
      bool from_below = term.second == 1 && !least_[term.first[0]];
      if (term.second != -1 && !from_below) continue;
      for (std::vector<Sym> factors : products) {
        auto at = llvm::find(factors, term.first[0]);
        if (at == factors.end()) continue;
        factors.erase(at);
        bool positive = llvm::all_of(factors, [&](Sym s) { return least_[s].value_or(-1) >= 0; });
        Poly product = fact.p;
        for (Sym s : factors) product = product * Poly::of(s);
        if (positive && more.size() < kMost) more.push_back({Fact::Kind::Ge, product});
      }
    }
  }
  facts.insert(facts.end(), more.begin(), more.end());
}

/// Symbols that the model does not define get small values.
bool Arith::satisfied(const Model& model, llvm::ArrayRef<Fact> facts) const {
  auto value = [&](Sym s) {
    auto at = model.find(s);
    return at != model.end() ? at->second : least_[s].value_or(0) + 2 + s % 5;
  };
  for (const Fact& fact : facts) {
    int64_t sum = 0;
    for (const auto& [symbols, n] : fact.p.terms()) {
      int64_t product = n;
      for (Sym s : symbols)
        if (__builtin_mul_overflow(product, value(s), &product)) return false;
      if (__builtin_add_overflow(sum, product, &sum)) return false;
    }
    bool holds =
        fact.kind == Fact::Kind::Ge ? sum >= 0 : (sum == 0) == (fact.kind == Fact::Kind::Eq);
    if (!holds) return false;
  }
  return true;
}

/// Open: linear arithmetic finds no contradiction, but its values are not a model over the
/// integers.
Arith::Answer Arith::judge(const std::vector<Fact>& facts) {
  constexpr size_t kModels = 16;
  if (exhausted()) return Answer::Satisfiable;
  if (models_.empty()) models_.emplace_back();
  for (size_t i = models_.size(); i-- > 0;)
    if (satisfied(models_[i], facts)) return Answer::Satisfiable;
  const Solver::Answer* answer = solver_->known(facts);
  ++(answer ? looked_up_ : asked_);
  if (!answer) answer = &solver_->query(facts);
  if (answer->contradictory) return Answer::Contradictory;
  if (models_.size() == kModels) models_.erase(models_.begin());
  models_.push_back(answer->model);
  return satisfied(answer->model, facts) ? Answer::Satisfiable : Answer::Open;
}

/// Returns comparisons s >= t that would relate the products s * m and t * m, for an index
/// s and any t.
std::vector<Fact> Arith::splits(llvm::ArrayRef<Fact> facts) const {
  constexpr size_t kMost = 4;
  std::vector<std::vector<Sym>> products;
  for (const Fact& fact : facts)
    for (const auto& term : fact.p.terms())
      if (!term.first.empty() && !llvm::is_contained(products, term.first))
        products.push_back(term.first);
  std::vector<Fact> found;
  for (const std::vector<Sym>& product : products)
    for (Sym s : product) {
      if (product.size() < 2 || least_[s]) continue;
      std::vector<Sym> others = product;
      others.erase(llvm::find(others, s));
      for (const std::vector<Sym>& other : products) {
        if (other == product || other.size() > product.size() ||
            !std::includes(other.begin(), other.end(), others.begin(), others.end()))
          continue;
        Poly t = 1;
        std::vector<Sym> rest;
        std::set_difference(other.begin(), other.end(), others.begin(), others.end(),
                            std::back_inserter(rest));
        for (Sym symbol : rest) t = t * Poly::of(symbol);
        Fact split = at_least(Poly::of(s), t);
        if (!llvm::is_contained(found, split)) found.push_back(split);
        if (found.size() == kMost) return found;
      }
    }
  return found;
}

/// Returns true if the known facts and the given ones contradict each other. The solver treats
/// products as single unknowns. If its values are not a model over the integers, both outcomes of a
/// comparison are tried.
bool Arith::query(llvm::ArrayRef<Fact> more) {
  if (exhausted()) return false;
  std::vector<Fact> all = everything(more);
  if (llvm::any_of(all, [](const Fact& fact) { return !fact.p.valid(); }))
    return budget_ = 0, false;
  Answer answer = judge(all);
  if (answer != Answer::Open) return answer == Answer::Contradictory;
  for (const Fact& split : splits(all)) {
    auto refuted = [&](const Fact& side) {
      std::vector<Fact> with(more.begin(), more.end());
      with.push_back(side);
      return judge(everything(with)) == Answer::Contradictory;
    };
    if (refuted(split) && refuted(negated(split))) return true;
  }
  return false;
}

} // namespace tg::proof
