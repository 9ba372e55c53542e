#include "compiler/rules/numerics/traced.h"

#include "lang/core/semantics/impl.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tg {

namespace {

using Kind = Expressions::Kind;

thread_local Expressions* innermost = nullptr;

/// A prime below 2^61 modulo which no power of two is small.
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 31;

__extension__ typedef unsigned __int128 Product;
uint64_t times(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<Product>(a) * b % kPrime);
}
uint64_t plus(uint64_t a, uint64_t b) { return (a + b) % kPrime; }
uint64_t negative(uint64_t a) { return (kPrime - a) % kPrime; }
uint64_t power(uint64_t a, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, a = times(a, a))
    if (exponent & 1) result = times(result, a);
  return result;
}
uint64_t inverse(uint64_t a) { return power(a, kPrime - 2); }

/// Returns the rational of the shortest decimal text, so that 0.1 is a tenth.
uint64_t plain_of(double x) {
  if (!std::isfinite(x)) return key_of_text("not finite") % kPrime;
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, std::abs(x), std::chars_format::scientific);
  auto [mantissa, exponent] = llvm::StringRef(text, static_cast<size_t>(end.ptr - text)).split('e');
  auto [whole, fraction] = mantissa.split('.');
  uint64_t digits = 0;
  int ten = 0;
  std::string significant = whole.str() + fraction.str();
  std::from_chars(significant.data(), significant.data() + significant.size(), digits);
  std::from_chars(exponent.data() + (exponent[0] == '+'), exponent.end(), ten);
  ten -= static_cast<int>(fraction.size());
  uint64_t scale = power(10, static_cast<uint64_t>(std::abs(ten)));
  uint64_t value = times(digits % kPrime, ten < 0 ? inverse(scale) : scale);
  return std::signbit(x) ? negative(value) : value;
}

uint64_t mixed(uint64_t key, uint64_t with) { return scramble(key ^ scramble(with + 1)); }

/// Returns a number from 0.5 to 1.
double number_near_one(uint64_t key) {
  return 0.5 + static_cast<double>(scramble(key) >> 11) * 0x1p-54;
}

/// The maximum of two is y + d * step(d) with d = x - y and step(-d) = 1 - step(d), so that
/// relu(x) - relu(-x) is x. The maximum of more is some function of the set.
uint64_t plain_maximum(std::vector<uint64_t>& of) {
  llvm::sort(of);
  uint64_t key = key_of_text("maximum");
  if (of.size() == 2) {
    uint64_t d = plus(of[0], negative(of[1]));
    bool flip = d > kPrime / 2;
    uint64_t step = mixed(key, flip ? negative(d) : d) % kPrime;
    return plus(of[1], times(d, flip ? plus(1, negative(step)) : step));
  }
  for (uint64_t plain : of) key = mixed(key, plain);
  return key % kPrime;
}

uint8_t bit(DType dtype) { return static_cast<uint8_t>(1u << static_cast<unsigned>(dtype)); }

/// Returns the dtypes that hold every value of this one.
uint8_t holders(DType dtype) {
  uint8_t found = 0;
  for (DType to : kAllDTypes)
    if (holds_all(to, dtype)) found |= bit(to);
  return found;
}

uint8_t holders_of(double x) {
  if (x == 0 || x == 1) return 0xff;
  bool whole = std::floor(x) == x && std::abs(x) < 0x1p31;
  uint8_t held = bit(DType::F64) | (static_cast<float>(x) == x ? bit(DType::F32) : 0);
  if (std::floor(x * 8) == x * 8 && std::abs(x * 8) <= 256)
    held |= bit(DType::F16) | bit(DType::BF16);
  return held | (whole ? holders(DType::I32) : 0);
}

Expressions::Node made(Kind kind, uint32_t op = 0, llvm::ArrayRef<uint32_t> args = {}) {
  Expressions::Node node;
  node.kind = kind;
  node.op = op;
  node.args.assign(args.begin(), args.end());
  return node;
}

/// Factor for the sizes of a softmax row: less than its exponentials alone.
constexpr double kTame = 0.05;

/// Functions other than those of operators.
enum : uint32_t { kWithin = 1000, kCast = 1010, kRow = 1020, kExternal = 1021 };

uint32_t function_of(OpKind op) { return static_cast<uint32_t>(op); }

/// Returns the value of a node as an integer: for sums and products that of their operands,
/// otherwise an arbitrary one.
uint64_t whole_value(const Expressions::Node& node, llvm::ArrayRef<Expressions::Node> nodes) {
  uint64_t value = node.kind == Kind::Mul ? 1 : 0;
  switch (node.kind) {
  case Kind::Literal:
    if (std::floor(node.literal) == node.literal && node.literal < 0x1p63)
      return static_cast<uint64_t>(node.literal);
    break;
  case Kind::Neg: return 0 - nodes[node.args[0]].whole;
  case Kind::Add:
    for (uint32_t arg : node.args) value += nodes[arg].whole;
    return value;
  case Kind::Mul:
    for (uint32_t arg : node.args) value *= nodes[arg].whole;
    return value;
  default: break;
  }
  return scramble(node.hash);
}

bool odd(uint32_t function) {
  for (OpKind op :
       {OpKind::Tanh, OpKind::Erf, OpKind::Sin, OpKind::Sign, OpKind::Atan, OpKind::Round})
    if (function == function_of(op)) return true;
  return false;
}

bool is_exponential(uint32_t function) {
  return function == function_of(OpKind::Exp) || function == function_of(OpKind::Expm1);
}

/// Returns true for functions that have jumps, where a rounded argument may change the result
/// wholly.
bool is_step(uint32_t function) {
  for (OpKind op : {OpKind::Less, OpKind::LessEqual, OpKind::Equal, OpKind::Floor, OpKind::Round,
                    OpKind::Sign, OpKind::Mod})
    if (function == function_of(op)) return true;
  return function >= kCast && function < kRow;
}

/// Returns true for functions that are finite for all finite arguments.
bool bounded(uint32_t function) {
  for (OpKind op : {OpKind::Tanh, OpKind::Erf, OpKind::Sin, OpKind::Cos, OpKind::Sign,
                    OpKind::Sigmoid, OpKind::Floor, OpKind::Round, OpKind::Atan, OpKind::Select,
                    OpKind::Less, OpKind::LessEqual, OpKind::Equal})
    if (function == function_of(op)) return true;
  return function == kRow;
}

} // namespace

// --- expressions --------------------------------------------------------------------------------

Expressions::Expressions() : outer_(innermost) {
  innermost = this;
  reads_.emplace_back();
  literal(0);
}

Expressions::~Expressions() { innermost = outer_; }

Expressions& Expressions::current() {
  assert(innermost && "traced scalars require an Expressions on this thread");
  return *innermost;
}

uint32_t Expressions::intern(Node node) {
  uint64_t hash = mixed(static_cast<uint64_t>(node.kind), node.op);
  for (uint32_t arg : node.args) hash = mixed(hash, nodes_[arg].hash);
  if (node.kind == Kind::Literal || node.kind == Kind::Leaf || node.kind == Kind::Whole)
    hash = mixed(hash, node.plain);
  node.finite = stays_finite(node);
  node.raises = node.kind == Kind::Call && is_exponential(node.op);
  node.jumps = node.kind == Kind::Call && is_step(node.op);
  for (uint32_t arg : node.args) {
    node.raises |= nodes_[arg].raises;
    node.jumps |= nodes_[arg].jumps;
  }
  node.hash = hash >> 2; // avoids the map's own marks
  if (node.kind != Kind::Whole) node.whole = whole_value(node, nodes_);
  auto [at, fresh] = by_hash_.try_emplace(node.hash, static_cast<uint32_t>(nodes_.size()));
  if (fresh) nodes_.push_back(std::move(node));
  return at->second;
}

bool Expressions::stays_finite(const Node& node) const {
  if (node.kind == Kind::Leaf || node.kind == Kind::Whole) return true;
  if (node.kind == Kind::Literal) return std::isfinite(node.literal);
  if (node.kind == Kind::Call && !bounded(node.op)) return false;
  if (node.kind == Kind::Round && nodes_[node.args[0]].kind != Kind::Call) return false;
  bool keeps = node.kind == Kind::Neg || node.kind == Kind::Max || node.kind == Kind::Call ||
               node.kind == Kind::Round;
  return keeps && llvm::all_of(node.args, [&](uint32_t arg) { return nodes_[arg].finite; });
}

/// Records a product with zero, which is zero if the other factor is finite.
uint32_t Expressions::drop(uint32_t x, uint32_t y) {
  for (uint32_t value : {x, y})
    if (!nodes_[value].finite) dropped_.insert(nodes_[value].plain);
  return 0;
}

uint32_t Expressions::join(uint32_t a, uint32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (a > b) std::swap(a, b);
  auto [at, fresh] =
      joins_.try_emplace(uint64_t{a} << 32 | b, static_cast<uint32_t>(reads_.size()));
  if (fresh) reads_.push_back({a, b, 0});
  return at->second;
}

uint32_t Expressions::all_reads(llvm::ArrayRef<Traced> of) {
  uint32_t reads = 0;
  for (Traced x : of) reads = join(reads, x.reads);
  return reads;
}

std::vector<uint64_t> Expressions::leaves(uint32_t reads) const {
  std::vector<uint64_t> found;
  std::vector<uint32_t> open = {reads};
  llvm::DenseMap<uint32_t, bool> seen;
  while (!open.empty()) {
    uint32_t at = open.back();
    open.pop_back();
    if (at == 0 || !seen.try_emplace(at, true).second) continue;
    if (reads_[at].a == 0)
      found.push_back(reads_[at].leaf);
    else
      open.insert(open.end(), {reads_[at].a, reads_[at].b});
  }
  llvm::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

namespace {

/// Calls `visit` for the node and those below it that have `flag`, once each.
template <class Visit>
void visit_flagged(const Expressions& all, uint32_t value, bool Expressions::Node::*flag,
                   Visit visit) {
  llvm::DenseSet<uint32_t> seen;
  std::vector<uint32_t> open = {value};
  while (!open.empty()) {
    uint32_t at = open.back();
    open.pop_back();
    const Expressions::Node& node = all.node(at);
    if (!(node.*flag) || !seen.insert(at).second) continue;
    open.insert(open.end(), node.args.begin(), node.args.end());
    visit(node);
  }
}

} // namespace

llvm::DenseSet<uint64_t> Expressions::exponents(uint32_t value) const {
  llvm::DenseSet<uint64_t> found;
  visit_flagged(*this, value, &Node::raises, [&](const Node& node) {
    if (node.kind == Kind::Call && is_exponential(node.op) && !literal_of(node.args[0]))
      found.insert(nodes_[node.args[0]].plain);
  });
  return found;
}

llvm::DenseSet<uint64_t> steps_of(const Expressions& all, uint32_t value) {
  llvm::DenseSet<uint64_t> found;
  visit_flagged(all, value, &Expressions::Node::jumps, [&](const Expressions::Node& node) {
    if (node.kind == Expressions::Kind::Call && is_step(node.op)) found.insert(node.hash);
  });
  return found;
}

bool Expressions::holds(uint32_t value, DType dtype) const {
  return nodes_[value].held & bit(dtype);
}

std::optional<double> Expressions::literal_of(uint32_t value) const {
  const Node& n = nodes_[value];
  if (n.kind == Kind::Literal) return n.literal;
  if (n.kind != Kind::Neg && n.kind != Kind::Round) return std::nullopt;
  std::optional<double> inner = literal_of(n.args[0]);
  return inner && n.kind == Kind::Neg ? -*inner : inner;
}

Traced Expressions::leaf(uint64_t key, uint32_t at, DType dtype) {
  Node n = made(Kind::Leaf, at);
  n.plain = mixed(mixed(key_of_text("leaf"), key), at) % kPrime;
  n.size = number_near_one(n.plain);
  n.held = holders(dtype);
  uint32_t value = intern(std::move(n));
  if (!is_float(dtype)) return {value, 0};
  uint64_t name = uint64_t{1} << 63 | value; // distinct from pairs of sets
  auto [read, fresh] = joins_.try_emplace(name, static_cast<uint32_t>(reads_.size()));
  if (fresh) reads_.push_back({0, 0, key << 32 | at});
  return {value, read->second};
}

Traced Expressions::literal(double value) {
  Node n = made(Kind::Literal);
  n.literal = std::abs(value);
  n.plain = plain_of(n.literal);
  n.size = std::isfinite(value) ? n.literal : 1;
  n.held = holders_of(n.literal);
  if (std::isnan(value)) return nan();
  Traced x{intern(std::move(n)), 0};
  return std::signbit(value) ? neg(x) : x;
}

Traced Expressions::integer(int64_t value) {
  constexpr int64_t kDoublesHold = int64_t{1} << 53;
  if (value >= -kDoublesHold && value <= kDoublesHold) return literal(static_cast<double>(value));
  const auto bits = static_cast<uint64_t>(value);
  const uint64_t magnitude = value < 0 ? 0 - bits : bits;
  Node n = made(Kind::Whole, static_cast<uint32_t>(magnitude >> 32));
  n.literal = static_cast<double>(magnitude);
  n.plain = magnitude % kPrime;
  n.whole = magnitude;
  n.size = n.literal;
  n.held = bit(DType::I64);
  Traced x{intern(std::move(n)), 0};
  return value < 0 ? neg(x) : x;
}

Traced Expressions::nan() {
  Node n = made(Kind::NaN);
  n.plain = key_of_text("nan") % kPrime;
  n.held = 0xff;
  return {intern(std::move(n)), 0};
}

/// f(select(c, x, y)) is select(c, f(x), f(y)), to the bit.
template <class F> std::optional<Traced> Expressions::of_each_choice(Traced x, F f) {
  const Node of = nodes_[x.value]; // a copy, since nodes move as they grow
  if (of.kind != Kind::Call || of.op != function_of(OpKind::Select)) return std::nullopt;
  Traced one = f(Traced{of.args[1], 0}), other = f(Traced{of.args[2], 0});
  return Traced{select({of.args[0], 0}, one, other).value, x.reads};
}

Traced Expressions::neg(Traced x) {
  if (auto chosen = of_each_choice(x, [&](Traced y) { return neg(y); })) return *chosen;
  const Node& of = nodes_[x.value];
  if (of.kind == Kind::Neg) return {of.args[0], x.reads};
  if (x.value == 0 || of.kind == Kind::NaN) return x;
  Node n = made(Kind::Neg, 0, {x.value});
  n.plain = negative(of.plain);
  n.size = of.size;
  n.held = of.held & static_cast<uint8_t>(~bit(DType::Bool));
  return {intern(std::move(n)), x.reads};
}

Traced Expressions::add(Traced x, Traced y) {
  uint32_t reads = join(x.reads, y.reads);
  auto kind = [&](Traced t) { return nodes_[t.value].kind; };
  if (kind(x) == Kind::NaN || y.value == 0) return {x.value, reads};
  if (kind(y) == Kind::NaN || x.value == 0) return {y.value, reads};
  if (x.value == y.value) return {mul(literal(2), x).value, reads};
  auto bare = [&](Traced t) { return kind(t) == Kind::Neg ? nodes_[t.value].args[0] : t.value; };
  if (bare(x) > bare(y) || (bare(x) == bare(y) && kind(x) == Kind::Neg)) std::swap(x, y);
  if (kind(x) == Kind::Neg) return {neg(add(neg(x), neg(y))).value, reads};
  if (auto a = literal_of(x.value), b = literal_of(y.value); a && b)
    if (std::abs(*a) < 0x1p20 && std::abs(*b) < 0x1p20 && std::floor(*a) == *a &&
        std::floor(*b) == *b)
      return {literal(*a + *b).value, reads};
  Node n = made(Kind::Add, 0, {x.value, y.value});
  n.plain = plus(nodes_[x.value].plain, nodes_[y.value].plain);
  n.size = nodes_[x.value].size + nodes_[y.value].size;
  return {intern(std::move(n)), reads};
}

Traced Expressions::mul(Traced x, Traced y) {
  uint32_t reads = join(x.reads, y.reads);
  auto kind = [&](Traced t) { return nodes_[t.value].kind; };
  if (kind(x) == Kind::NaN || kind(y) == Kind::NaN) return {nan().value, reads};
  if (x.value == 0 || y.value == 0) return {drop(x.value, y.value), reads};
  if (kind(x) == Kind::Neg) return {neg(mul(neg(x), y)).value, reads};
  if (kind(y) == Kind::Neg) return {neg(mul(x, neg(y))).value, reads};
  auto a = literal_of(x.value), b = literal_of(y.value);
  if (a == 1) return {y.value, reads};
  if (b == 1) return {x.value, reads};
  if (a && b && *a < 0x1p10 && *b < 0x1p10 && std::floor(*a) == *a && std::floor(*b) == *b)
    return {literal(*a * *b).value, reads};
  if (x.value > y.value) std::swap(x, y);
  Node n = made(Kind::Mul, 0, {x.value, y.value});
  n.plain = times(nodes_[x.value].plain, nodes_[y.value].plain);
  n.size = nodes_[x.value].size * nodes_[y.value].size;
  uint8_t both = nodes_[x.value].held & nodes_[y.value].held;
  n.held = both & bit(DType::Bool) ? both : 0; // 0 or 1
  return {intern(std::move(n)), reads};
}

Traced Expressions::div(Traced x, Traced y) {
  uint32_t reads = join(x.reads, y.reads);
  auto kind = [&](Traced t) { return nodes_[t.value].kind; };
  if (kind(x) == Kind::NaN || kind(y) == Kind::NaN) return {nan().value, reads};
  if (kind(x) == Kind::Neg) return {neg(div(neg(x), y)).value, reads};
  if (kind(y) == Kind::Neg) return {neg(div(x, neg(y))).value, reads};
  std::optional<double> by = literal_of(y.value);
  if (by == 1) return {x.value, reads};
  Node n = made(Kind::Div, 0, {x.value, y.value});
  const Node &above = nodes_[x.value], &below = nodes_[y.value];
  bool known = by && *by != 0;
  uint64_t key = mixed(key_of_text("reciprocal"), below.plain);
  n.plain = times(above.plain, known ? inverse(below.plain) : key % kPrime);
  n.size = above.size * (known ? 1 / *by : number_near_one(key) * (1 + below.size));
  if (std::optional<uint64_t> share = as_softmax(x.value, y.value)) n.plain = *share;
  return {intern(std::move(n)), reads};
}

bool Expressions::clamps(uint32_t value) const {
  if (nodes_[value].kind != Kind::Neg) return false;
  const Node& inner = nodes_[nodes_[value].args[0]];
  return inner.kind == Kind::Max &&
         llvm::any_of(inner.args, [&](uint32_t arg) { return literal_of(arg).has_value(); });
}

/// max(m, min(h, max(l, x))) is min(max(m, h), max(m, l, x)): a clip of a clip is a clip.
std::optional<uint32_t> Expressions::raised(uint32_t value, double least) {
  if (!clamps(value)) return std::nullopt;
  const Node inner = nodes_[nodes_[value].args[0]]; // a copy, since nodes move as they grow
  if (!llvm::all_of(inner.args,
                    [&](uint32_t arg) { return literal_of(arg).has_value() || clamps(arg); }))
    return std::nullopt;
  llvm::SmallVector<Traced, 8> parts;
  for (uint32_t arg : inner.args) parts.push_back(neg(max({literal(least), neg({arg, 0})})));
  return neg(max(parts)).value;
}

Traced Expressions::max(llvm::ArrayRef<Traced> of) {
  uint32_t reads = all_reads(of);
  Node n = made(Kind::Max);
  double literal_part = -HUGE_VAL;
  for (Traced x : of) {
    const Node& arg = nodes_[x.value];
    if (arg.kind == Kind::NaN) return {x.value, reads};
    llvm::ArrayRef<uint32_t> parts = arg.kind == Kind::Max ? llvm::ArrayRef<uint32_t>(arg.args)
                                                           : llvm::ArrayRef<uint32_t>(x.value);
    for (uint32_t part : parts)
      if (std::optional<double> known = literal_of(part))
        literal_part = std::max(literal_part, *known);
      else
        n.args.push_back(part);
  }
  if (literal_part > -HUGE_VAL && n.args.size() == 1)
    if (std::optional<uint32_t> clamped = raised(n.args[0], literal_part)) return {*clamped, reads};
  if (literal_part > -HUGE_VAL) n.args.push_back(literal(literal_part).value);
  llvm::sort(n.args);
  n.args.erase(std::unique(n.args.begin(), n.args.end()), n.args.end());
  if (n.args.size() == 1) return {n.args[0], reads};
  std::vector<uint64_t> plains;
  n.held = 0xff;
  for (uint32_t arg : n.args) {
    plains.push_back(nodes_[arg].plain);
    n.size = std::max(n.size, nodes_[arg].size);
    n.held &= nodes_[arg].held;
  }
  n.plain = plain_maximum(plains);
  return {intern(std::move(n)), reads};
}

Traced Expressions::call(uint32_t function, llvm::ArrayRef<Traced> args, uint8_t held) {
  uint32_t reads = all_reads(args);
  if (args.size() == 1)
    if (auto chosen = of_each_choice(args[0], [&](Traced x) { return call(function, {x}, held); }))
      return *chosen;
  if (odd(function) && nodes_[args[0].value].kind == Kind::Neg)
    return neg(call(function, {neg(args[0])}, held));
  Node n = made(Kind::Call, function);
  uint64_t key = mixed(key_of_text("call"), function);
  bool flip = odd(function) && nodes_[args[0].value].plain > kPrime / 2;
  double size = 1;
  for (Traced x : args) {
    if (nodes_[x.value].kind == Kind::NaN && held == 0) return {x.value, reads};
    n.args.push_back(x.value);
    key = mixed(key, flip ? negative(nodes_[x.value].plain) : nodes_[x.value].plain);
    size += nodes_[x.value].size;
  }
  n.plain = flip ? negative(key % kPrime) : key % kPrime;
  n.size = number_near_one(key) * size;
  n.held = held;
  return {intern(std::move(n)), reads};
}

Traced Expressions::defined(uint32_t function, Traced x, Traced meant) {
  Node n = made(Kind::Call, function, {x.value});
  n.plain = nodes_[meant.value].plain;
  n.size = nodes_[meant.value].size;
  if (nodes_[x.value].kind == Kind::NaN) return x;
  return {intern(std::move(n)), join(x.reads, meant.reads)};
}

Traced Expressions::near_zero(uint32_t function, Traced x, Traced meant) {
  Traced y = defined(function, x, meant);
  double size = nodes_[x.value].size; // below that of `meant`, the more so the smaller x is
  if (nodes_[y.value].kind == Kind::Call)
    nodes_[y.value].size = nodes_[meant.value].size * (size / (2 + size));
  return y;
}

/// Returns x for an expression 1 - x.
std::optional<uint32_t> Expressions::negated(uint32_t value) const {
  const Node* n = &nodes_[value];
  bool minus = n->kind == Kind::Neg;
  if (minus) n = &nodes_[n->args[0]];
  if (n->kind != Kind::Add) return std::nullopt;
  for (size_t i : {0, 1}) {
    std::optional<double> one = literal_of(n->args[i]);
    const Node& x = nodes_[n->args[1 - i]];
    if (!one || *one != (minus ? -1 : 1) || (x.kind == Kind::Neg) == minus) continue;
    return minus ? n->args[1 - i] : x.args[0];
  }
  return std::nullopt;
}

/// Over the reals, a mixture that depends only on the condition, so that sums and products of
/// choices are choices among sums and products.
Traced Expressions::select(Traced condition, Traced x, Traced y) {
  if (std::optional<double> known = literal_of(condition.value)) return *known != 0 ? x : y;
  uint32_t reads = all_reads({condition, x, y});
  if (std::optional<uint32_t> inner = negated(condition.value)) {
    condition.value = *inner;
    std::swap(x, y);
  }
  if (x.value == y.value) return {x.value, reads};
  const Node &one = nodes_[x.value], &other = nodes_[y.value];
  Node n = made(Kind::Call, function_of(OpKind::Select), {condition.value, x.value, y.value});
  uint64_t share = mixed(key_of_text("select"), nodes_[condition.value].plain) % kPrime;
  n.plain = plus(times(share, one.plain), times(plus(1, negative(share)), other.plain));
  n.size = std::max(one.size, other.size);
  n.held = one.held & other.held;
  return {intern(std::move(n)), reads};
}

Traced Expressions::sized(Traced x, Traced like) {
  Node n = made(Kind::Call, kWithin, {x.value});
  n.plain = nodes_[x.value].plain;
  n.size = nodes_[like.value].size;
  return {intern(std::move(n)), x.reads};
}

Traced Expressions::store(DType dtype, Traced x) { return is_float(dtype) ? rounded(dtype, x) : x; }

Traced Expressions::store_whole(DType dtype, Traced x) {
  uint64_t whole = nodes_[x.value].whole;
  if (dtype == DType::I32) whole &= 0xffffffff;
  const uint64_t key = mixed(static_cast<uint64_t>(dtype), whole) >> 2;
  return {by_whole_.try_emplace(key, x.value).first->second, x.reads};
}

Traced Expressions::rounded(DType dtype, Traced x) {
  const Node of = nodes_[x.value]; // a copy, since nodes move as they grow
  auto part = [&](uint32_t arg) { return rounded(dtype, {arg, 0}); };
  if (of.held & bit(dtype) || of.kind == Kind::NaN) return x;
  if (of.kind == Kind::Neg) return {neg(part(of.args[0])).value, x.reads};
  if (of.kind == Kind::Max) {
    llvm::SmallVector<Traced, 8> parts;
    for (uint32_t arg : of.args) parts.push_back(part(arg));
    return {max(parts).value, x.reads};
  }
  if (auto chosen = of_each_choice(x, [&](Traced y) { return rounded(dtype, y); })) return *chosen;
  Node n = made(Kind::Round, static_cast<uint32_t>(dtype), {x.value});
  n.plain = of.plain;
  n.size = of.size;
  n.held = holders(dtype);
  return {intern(std::move(n)), x.reads};
}

Traced Expressions::cast(DType from, DType to, Traced x) {
  if (holders(from) & bit(to) || holds(x.value, to)) return x;
  if (is_float(to)) return rounded(to, x);
  return {call(kCast + static_cast<uint32_t>(to), {x}, holders(to)).value, 0}; // always finite
}

// --- functions ----------------------------------------------------------------------------------

Traced Math<Traced>::unary(OpKind op, Traced x) {
  Expressions& all = Expressions::current();
  uint32_t function = function_of(op);
  Traced one = literal(1);
  switch (op) {
  case OpKind::Relu: return maximum(x, literal(0));
  case OpKind::Sigmoid: return all.defined(function, x, one / (one + unary(OpKind::Exp, -x)));
  case OpKind::Expm1: return all.near_zero(function, x, unary(OpKind::Exp, x) - one);
  case OpKind::Log1p: return all.near_zero(function, x, unary(OpKind::Log, one + x));
  case OpKind::Gelu: {
    Traced erf = unary(OpKind::Erf, x / literal(std::sqrt(2.0)));
    return all.defined(function, x, x * (one + erf) / literal(2));
  }
  case OpKind::Floor:
  case OpKind::Round: return all.call(function, {x}, all.node(x.value).held);
  default: break;
  }
  if (!formulas::has(op)) return all.call(function, {x}, 0);
  return all.defined(function, x, *formulas::value<Meaning<Traced>>(op, &x)); // and more exact
}

Traced Math<Traced>::binary(OpKind op, Traced x, Traced y) {
  Expressions& all = Expressions::current();
  if (op == OpKind::Minimum) return -maximum(-x, -y);
  if (op == OpKind::Equal && x.value == y.value) return literal(1); // except for NaN
  if (op == OpKind::Equal && x.value > y.value) std::swap(x, y);
  bool compares = op == OpKind::Less || op == OpKind::LessEqual || op == OpKind::Equal;
  Traced result = all.call(function_of(op), {x, y}, compares ? 0xff : 0);
  if (compares) result.reads = 0; // neither infinite nor NaN, whatever is compared
  return result;
}

Traced Math<Traced>::select(Traced condition, Traced x, Traced y) {
  return Expressions::current().select(condition, x, y);
}

int64_t Math<Traced>::index(Traced x, int64_t size) {
  const Expressions::Node& node = Expressions::current().node(x.value);
  if (node.kind == Kind::Whole) return -1; // out of range of any axis
  bool known = node.kind == Kind::Literal;
  int64_t at =
      known ? static_cast<int64_t>(node.literal) : static_cast<int64_t>(scramble(node.hash) % 5);
  return at < size ? at : -1;
}

int64_t Math<Traced>::argmax(llvm::ArrayRef<Traced> values) {
  uint64_t key = key_of_text("argmax");
  for (Traced x : values) key = mixed(key, Expressions::current().node(x.value).hash);
  return static_cast<int64_t>(key % values.size());
}

/// Over the reals, a function of the differences between all numbers of the row and this one.
uint64_t Expressions::share_of_row(uint32_t of, llvm::ArrayRef<uint32_t> row) const {
  std::vector<uint64_t> apart;
  for (uint32_t x : row) apart.push_back(plus(nodes_[x].plain, negative(nodes_[of].plain)));
  llvm::sort(apart);
  uint64_t key = key_of_text("softmax");
  for (uint64_t distance : apart) key = mixed(key, distance);
  return key % kPrime;
}

Traced Expressions::softmax(Traced of, llvm::ArrayRef<Traced> row) {
  Node n = made(Kind::Call, kRow, {of.value});
  for (Traced x : row) n.args.push_back(x.value);
  llvm::sort(n.args.begin() + 1, n.args.end());
  for (Traced x : row)
    if (nodes_[x.value].kind == Kind::NaN) return {x.value, all_reads(row)};
  n.plain = share_of_row(of.value, llvm::makeArrayRef(n.args).drop_front());
  n.size = kTame;
  for (Traced x : row) n.size += kTame * nodes_[x.value].size;
  return {intern(std::move(n)), all_reads(row)};
}

/// Returns the x of exp(x), rounded or not.
std::optional<uint32_t> Expressions::exponent_of(uint32_t value) const {
  const Node* n = &nodes_[value];
  if (n->kind == Kind::Round) n = &nodes_[n->args[0]];
  if (n->kind != Kind::Call || n->op != function_of(OpKind::Exp)) return std::nullopt;
  return n->args[0];
}

/// exp(x) over a sum of exponentials is softmax, by its definition.
std::optional<uint64_t> Expressions::as_softmax(uint32_t above, uint32_t below) const {
  std::optional<uint32_t> of = exponent_of(above);
  if (!of) return std::nullopt;
  std::vector<uint32_t> open = {below}, row;
  while (!open.empty()) {
    uint32_t at = open.back();
    open.pop_back();
    const Node& n = nodes_[at];
    std::optional<uint32_t> x = exponent_of(at);
    if (x)
      row.push_back(*x);
    else if (n.kind == Kind::Add || n.kind == Kind::Round)
      open.insert(open.end(), n.args.begin(), n.args.end());
    else
      return std::nullopt;
  }
  return share_of_row(*of, row);
}

void Math<Traced>::softmax(llvm::MutableArrayRef<Traced> row) {
  llvm::SmallVector<Traced, 8> given(row.begin(), row.end());
  for (Traced& x : row) x = Expressions::current().softmax(x, given);
}

Math<Traced>::External::External(llvm::StringRef name, llvm::StringRef signature)
    : key_(mixed(key_of_text(name), key_of_text(signature))) {}

void Math<Traced>::External::shape(llvm::ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes) key_ = mixed(key_, static_cast<uint64_t>(size));
}

Traced Math<Traced>::External::at(int64_t i) const {
  Expressions& all = Expressions::current();
  llvm::SmallVector<Traced, 8> args(elements_.begin(), elements_.end());
  args.push_back(all.leaf(key_ >> 32, static_cast<uint32_t>(key_), DType::I64));
  args.push_back(literal(static_cast<double>(i)));
  return all.call(kExternal, args, 0);
}

template void evaluate_op<Traced>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Traced>>,
                                  View<Traced>, llvm::MutableArrayRef<Traced>);

} // namespace tg
