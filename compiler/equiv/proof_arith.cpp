#include "compiler/equiv/proof_arith.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#ifdef TG_HAVE_Z3
#include <z3.h>
#endif

namespace tg::proof {

Poly Poly::plus(const Poly& other, int64_t factor) const {
  Poly sum;
  auto a = terms_.begin(), b = other.terms_.begin();
  while (a != terms_.end() || b != other.terms_.end()) {
    if (b == other.terms_.end() || (a != terms_.end() && a->first < b->first)) {
      sum.terms_.push_back(*a++);
    } else if (a == terms_.end() || b->first < a->first) {
      sum.terms_.push_back({b->first, factor * b->second});
      ++b;
    } else {
      int64_t n = a->second + factor * b->second;
      if (n) sum.terms_.push_back({a->first, n});
      ++a, ++b;
    }
  }
  return sum;
}

Poly Poly::operator*(const Poly& other) const {
  Poly sum;
  for (const auto& [a, n] : terms_)
    for (const auto& [b, m] : other.terms_) {
      Poly product;
      product.terms_.push_back({a, n * m});
      std::vector<Sym>& both = product.terms_[0].first;
      both.insert(both.end(), b.begin(), b.end());
      llvm::sort(both);
      sum = sum + product;
    }
  return sum;
}

std::optional<int64_t> Poly::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].first.empty()) return terms_[0].second;
  return std::nullopt;
}

bool Poly::has(Sym s) const {
  return llvm::any_of(terms_, [s](const auto& term) { return llvm::is_contained(term.first, s); });
}

Poly Poly::replaced(Sym s, const Poly& by) const {
  Poly result;
  for (const auto& [symbols, n] : terms_) {
    Poly term = n;
    for (Sym other : symbols) term = term * (other == s ? by : Poly::of(other));
    result = result + term;
  }
  return result;
}

int64_t Poly::lone_coefficient(Sym s) const {
  int64_t found = 0;
  for (const auto& [symbols, n] : terms_) {
    if (!llvm::is_contained(symbols, s)) continue;
    if (symbols.size() > 1) return 0;
    found = n;
  }
  return found;
}

Fact negated(const Fact& fact) {
  switch (fact.kind) {
  case Fact::Kind::Ge: return {Fact::Kind::Ge, Poly(-1) - fact.p};
  case Fact::Kind::Eq: return {Fact::Kind::Ne, fact.p};
  case Fact::Kind::Ne: return {Fact::Kind::Eq, fact.p};
  }
  return fact;
}

#ifdef TG_HAVE_Z3

bool have_solver() { return true; }

/// One question at a time, from scratch: they are small.
class Solver {
public:
  static constexpr const char* kResources = "200000"; // Z3's own unit of work, for one question

  Solver() {
    Z3_config config = Z3_mk_config();
    Z3_set_param_value(config, "rlimit", kResources);
    context = Z3_mk_context(config);
    Z3_del_config(config);
    Z3_set_error_handler(context, [](Z3_context, Z3_error_code) {}); // unknown answers no question
    integers = Z3_mk_int_sort(context);
    solver = Z3_mk_simple_solver(context);
    Z3_solver_inc_ref(context, solver);
  }
  ~Solver() {
    Z3_solver_dec_ref(context, solver);
    Z3_del_context(context);
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

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

  /// Whether the facts contradict each other; else values for their symbols, where there are any.
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

class Solver {
public:
  bool contradictory(llvm::ArrayRef<Fact>, std::map<Sym, int64_t>&) { return false; }
};

#endif

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

/// An equality with a symbol that stands alone with coefficient 1 or -1 names that symbol; of
/// several the latest, so that what is derived gives way to what it is derived from.
void Arith::assume(const Fact& fact) {
  Poly p = normal(fact.p);
  facts_.push_back({fact.kind, p});
  if (fact.kind != Fact::Kind::Eq) return;
  std::optional<Sym> symbol;
  for (const auto& [symbols, n] : p.terms())
    if (symbols.size() == 1 && (n == 1 || n == -1) && p.lone_coefficient(symbols[0]) == n)
      symbol = std::max(symbol.value_or(0), symbols[0]);
  if (!symbol) return;
  Poly rest = p - Poly(p.lone_coefficient(*symbol)) * Poly::of(*symbol);
  define(*symbol, rest * Poly(-p.lone_coefficient(*symbol)));
}

void Arith::define(Sym symbol, const Poly& value) {
  for (auto& entry : known_)
    if (entry.second.has(symbol)) entry.second = entry.second.replaced(symbol, value);
  known_.emplace(symbol, value);
  for (Fact& fact : facts_)
    if (fact.p.has(symbol)) fact.p = fact.p.replaced(symbol, value);
  // A symbol that is replaced still has its bound.
  if (least_[symbol]) facts_.push_back(at_least(value, *least_[symbol]));
  llvm::erase_if(facts_, [&](const Fact& fact) { return plainly_follows(fact); });
}

/// Non-negative unknowns with coefficients that are not negative, and a constant that makes up for
/// what is below.
bool Arith::plainly_follows(const Fact& fact) const {
  if (std::optional<int64_t> n = fact.p.constant())
    return fact.kind == Fact::Kind::Ge ? *n >= 0 : (*n == 0) == (fact.kind == Fact::Kind::Eq);
  if (fact.kind != Fact::Kind::Ge) return false;
  int64_t low = 0;
  for (const auto& [symbols, n] : fact.p.terms()) {
    int64_t least = 1;
    for (Sym s : symbols) {
      if (!least_[s] || *least_[s] < 0) return false;
      least = std::min<int64_t>(least * *least_[s], INT32_MAX);
    }
    if (n < 0 && !symbols.empty()) return false;
    low += n * least;
  }
  return low >= 0;
}

bool Arith::follows(const Fact& fact) {
  Fact goal{fact.kind, normal(fact.p)};
  if (plainly_follows(goal)) return true;
  if (goal.p.constant()) { // it does not hold: unless nothing does
    return false;
  }
  Fact opposite = negated(goal);
  return ask(&opposite);
}

bool Arith::consistent() { return !ask(nullptr); }

/// What is known, the goal, and the bounds of what occurs there.
std::vector<Fact> Arith::everything(const Fact* goal) const {
  std::vector<Fact> all = facts_;
  for (const Fact& fact : context_) all.push_back({fact.kind, normal(fact.p)});
  if (goal) all.push_back(*goal);
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

/// Symbols that the model does not name have small values of their own.
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

/// Whether the facts, and the one given, contradict each other.
bool Arith::ask(const Fact* goal) {
  constexpr size_t kModels = 16;
  if (exhausted()) return false;
  std::vector<Fact> all = everything(goal);
  if (models_.empty()) models_.emplace_back();
  for (size_t i = models_.size(); i-- > 0;)
    if (satisfied(models_[i], all)) return false;
  ++asked_;
  Model model;
  if (solver_->contradictory(all, model)) return true;
  if (models_.size() == kModels) models_.erase(models_.begin());
  models_.push_back(std::move(model));
  return false;
}

} // namespace tg::proof
