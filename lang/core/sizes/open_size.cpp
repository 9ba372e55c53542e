#include "lang/core/sizes/open_size.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

using sizes::Condition;

namespace {

SizeRun* run_of(const Size& a, const Size& b) { return a.open() ? a.run() : b.run(); }

/// 0 for a division by zero, which the caller refuses.
int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

} // namespace

// --- runs ----------------------------------------------------------------------------------------

/// An expression that is a number everywhere is not open.
Size SizeRun::made(int64_t value, sizes::Expr expr) {
  if (algebra_.constant(expr)) return value;
  return {value, this, expr};
}

sizes::Expr SizeRun::expr_of(const Size& size) {
  return size.open() ? size.expr() : algebra_.number(size.sample());
}

std::optional<Size> SizeRun::find(llvm::StringRef name) {
  for (size_t i = 0; i < sample_.size(); ++i)
    if (algebra_.name(i) == name) return size(i);
  return std::nullopt;
}

/// Records that a relation holds, if it does not in the whole region.
void SizeRun::note(const Size& a, Relation relation, const Size& b, llvm::StringRef fixes) {
  using Kind = Condition::Kind;
  sizes::Expr x = expr_of(a), y = expr_of(b);
  Condition condition{algebra_.subtract(x, y), Kind::NotNegative};
  if (relation == Relation::Equal) condition.kind = Kind::Zero;
  if (relation == Relation::NotEqual) condition.kind = Kind::NotZero;
  if (relation == Relation::Less)
    condition.of = algebra_.subtract(algebra_.subtract(y, x), algebra_.number(1));
  if (!condition.of.known()) return fix_all(); // beyond the algebra
  if (region_.proves(condition)) return;
  static constexpr const char* kSigns[] = {" == ", " != ", " < ", " >= "};
  std::string text = algebra_.text(x) + kSigns[static_cast<size_t>(relation)] + algebra_.text(y);
  answers_.push_back({condition, std::move(text), site_.at, fixes.str()});
  region_.assume(condition);
}

void SizeRun::fix_all() {
  std::string why = site_.construct.empty() ? "this expression" : site_.construct;
  for (size_t i = 0; i < sample_.size(); ++i) note(size(i), Relation::Equal, sample_[i], why);
}

bool exceeds(const Size& n, int64_t limit) {
  bool checked = n.open() && n.run()->region().bounded();
  return checked ? Size(limit) < n : n.sample() > limit;
}

// --- sizes ---------------------------------------------------------------------------------------

int64_t Size::fixed() const {
  if (!open()) return value_;
  run_->note(*this, SizeRun::Relation::Equal, value_,
             run_->site_.construct.empty() ? "this expression" : run_->site_.construct);
  return value_;
}

Size operator+(const Size& a, const Size& b) {
  SizeRun* run = run_of(a, b);
  int64_t sum = a.value_ + b.value_;
  return run ? run->made(sum, run->algebra().add(run->expr_of(a), run->expr_of(b))) : Size(sum);
}

Size operator-(const Size& a, const Size& b) {
  SizeRun* run = run_of(a, b);
  int64_t difference = a.value_ - b.value_;
  if (!run) return difference;
  return run->made(difference, run->algebra().subtract(run->expr_of(a), run->expr_of(b)));
}

Size operator*(const Size& a, const Size& b) {
  SizeRun* run = run_of(a, b);
  int64_t product = a.value_ * b.value_;
  return run ? run->made(product, run->algebra().multiply(run->expr_of(a), run->expr_of(b)))
             : Size(product);
}

Size operator/(const Size& a, const Size& b) {
  SizeRun* run = run_of(a, b);
  int64_t quotient = floor_quotient(a.value_, b.value_);
  if (!run) return quotient;
  if (b.open()) { // exact for all sizes but 0
    (void)(b == Size(0));
    auto exact = run->algebra().divide_exactly(run->expr_of(a), b.expr());
    if (exact) return run->made(quotient, *exact);
  }
  int64_t by = b.fixed();
  sizes::Expr dividend = run->expr_of(a);
  if (by < 0) dividend = run->algebra().scale(dividend, -1);
  return run->made(quotient, run->algebra().floor_divide(dividend, by < 0 ? -by : by));
}

Size operator%(const Size& a, const Size& b) { return a - b * (a / b); }

bool operator==(const Size& a, const Size& b) {
  bool equal = a.value_ == b.value_;
  using Relation = SizeRun::Relation;
  if (SizeRun* run = run_of(a, b)) run->note(a, equal ? Relation::Equal : Relation::NotEqual, b);
  return equal;
}

bool operator<(const Size& a, const Size& b) {
  bool less = a.value_ < b.value_;
  using Relation = SizeRun::Relation;
  if (SizeRun* run = run_of(a, b)) run->note(a, less ? Relation::Less : Relation::NotLess, b);
  return less;
}

// --- types and values ----------------------------------------------------------------------------

bool OpenType::operator==(const OpenType& other) const {
  return dtype == other.dtype && shape.size() == other.shape.size() &&
         std::equal(shape.begin(), shape.end(), other.shape.begin());
}

bool OpenType::open() const {
  return llvm::any_of(shape, [](const Size& size) { return size.open(); });
}

Size OpenType::elements() const {
  Size count = 1;
  for (const Size& size : shape) count *= size;
  return count;
}

TensorType OpenType::sample() const {
  TensorType out{dtype, {}};
  for (const Size& size : shape) out.shape.push_back(size.sample());
  return out;
}

OpenValue::OpenValue(const Value& v)
    : kind(v.kind), number(v.number), real(v.real), ints(v.ints.begin(), v.ints.end()),
      reals(v.reals), text(v.text) {}

OpenValue OpenValue::of_int(Size n) {
  OpenValue v;
  v.number = n;
  return v;
}

OpenValue OpenValue::of_ints(llvm::ArrayRef<Size> ints) {
  OpenValue v;
  v.kind = Kind::Ints;
  v.ints.assign(ints.begin(), ints.end());
  return v;
}

OpenValue OpenValue::of_type(const OpenType& type) {
  OpenValue v;
  v.kind = Kind::Type;
  v.number = static_cast<int64_t>(type.dtype);
  v.ints.assign(type.shape.begin(), type.shape.end());
  return v;
}

bool OpenValue::open() const {
  return number.open() || llvm::any_of(ints, [](const Size& size) { return size.open(); });
}

OpenType OpenValue::as_type() const {
  return {static_cast<DType>(number.sample()), OpenShape(ints.begin(), ints.end())};
}

Value OpenValue::sample() const {
  Value v;
  v.kind = kind;
  v.number = number.sample();
  v.real = real;
  for (const Size& n : ints) v.ints.push_back(n.sample());
  v.reals = reals;
  v.text = text;
  return v;
}

} // namespace tg
