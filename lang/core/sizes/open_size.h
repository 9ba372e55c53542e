// Sizes that may be open: a number, or an expression of open sizes together with its value at the
// sample at which a model is instantiated. Code that is written for integers runs on them
// unchanged, because a comparison has the answer of the sample. SizeRun notes each answer that does
// not hold for all sizes of its region, and the regions with the other answers are checked at
// samples of their own (compiler/ir/open_check.h). So two sizes are equal for all sizes only where
// that is proved.
#pragma once

#include "lang/core/diagnostics/source.h"
#include "lang/core/sizes/region.h"
#include "lang/core/symbols.h"

namespace tg {

class SizeRun;

class Size {
public:
  Size(int64_t value = 0) : value_(value) {} // NOLINT(google-explicit-constructor)
  /// The value at the sample, for messages. A decision that uses it must be noted.
  int64_t sample() const { return value_; }
  bool open() const { return run_ != nullptr; }
  SizeRun* run() const { return run_; }
  sizes::Expr expr() const { return expr_; }
  /// Returns the value, and notes that the size equals it. For operations that require a number.
  int64_t fixed() const;

  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  /// Both round down. Open divisors must divide the expression, or are fixed.
  friend Size operator/(const Size& a, const Size& b);
  friend Size operator%(const Size& a, const Size& b);
  Size& operator+=(const Size& b) { return *this = *this + b; }
  Size& operator*=(const Size& b) { return *this = *this * b; }

  friend bool operator==(const Size& a, const Size& b);
  friend bool operator<(const Size& a, const Size& b);
  friend bool operator!=(const Size& a, const Size& b) { return !(a == b); }
  friend bool operator>(const Size& a, const Size& b) { return b < a; }
  friend bool operator<=(const Size& a, const Size& b) { return !(b < a); }
  friend bool operator>=(const Size& a, const Size& b) { return !(a < b); }

private:
  friend class SizeRun;
  Size(int64_t value, SizeRun* run, sizes::Expr expr) : value_(value), run_(run), expr_(expr) {}

  int64_t value_ = 0;
  SizeRun* run_ = nullptr; // null for a number
  sizes::Expr expr_;
};

/// The number itself; of an open size, see Size::fixed.
inline int64_t fixed(int64_t n) { return n; }
inline int64_t fixed(const Size& n) { return n.fixed(); }

/// One instantiation with open sizes, at a sample of a region.
class SizeRun {
public:
  /// An answer that does not hold in the whole region, in the order of the questions.
  struct Answer {
    sizes::Condition condition; // true at the sample
    std::string text;           // the condition as in a program: "2 * N == M"
    Span at;
    /// The construct that requires a number ("`grad`"), or empty for a comparison.
    std::string fixes;
  };

  SizeRun(sizes::Algebra& algebra, sizes::Region region, sizes::Point sample)
      : algebra_(algebra), region_(std::move(region)), sample_(std::move(sample)) {}
  SizeRun(const SizeRun&) = delete;
  SizeRun& operator=(const SizeRun&) = delete;

  Size size(size_t number) { return made(sample_[number], algebra_.size(number)); }
  /// Returns the size of that name, or nullopt.
  std::optional<Size> find(llvm::StringRef name);
  /// Fixes all sizes: for a construct that can depend on each.
  void fix_all();
  /// The place of the questions that follow, and the name of the construct there, for messages.
  struct Site {
    Span at;
    std::string construct;
  };
  /// Returns the previous site.
  Site enter(Site site) { return std::exchange(site_, std::move(site)); }

  sizes::Algebra& algebra() { return algebra_; }
  const sizes::Region& region() const { return region_; }
  llvm::ArrayRef<Answer> answers() const { return answers_; }

private:
  friend class Size;
  friend Size operator+(const Size&, const Size&);
  friend Size operator-(const Size&, const Size&);
  friend Size operator*(const Size&, const Size&);
  friend Size operator/(const Size&, const Size&);
  friend Size operator%(const Size&, const Size&);
  friend bool operator==(const Size&, const Size&);
  friend bool operator<(const Size&, const Size&);

  Size made(int64_t value, sizes::Expr expr);
  sizes::Expr expr_of(const Size& size);
  enum class Relation : uint8_t { Equal, NotEqual, Less, NotLess };
  void note(const Size& a, Relation relation, const Size& b, llvm::StringRef fixes = "");

  sizes::Algebra& algebra_;
  sizes::Region region_;
  sizes::Point sample_;
  std::vector<Answer> answers_;
  Site site_;
};

/// Returns true if n is above a limit of the program, such as that of memory. For sizes without an
/// end, this is checked when they have a value.
inline bool exceeds(int64_t n, int64_t limit) { return n > limit; }
bool exceeds(const Size& n, int64_t limit);
/// The same for a product of two numbers that are not negative.
inline bool product_exceeds(int64_t a, int64_t b, int64_t limit) { return a != 0 && b > limit / a; }
inline bool product_exceeds(const Size& a, const Size& b, int64_t limit) {
  return product_exceeds(a.sample(), b.sample(), limit) || exceeds(a * b, limit);
}

/// Enters a site for a scope. A null run does nothing.
class SizeSite {
public:
  SizeSite(SizeRun* run, Span at, std::string construct = "") : run_(run) {
    if (run_) before_ = run_->enter({at, std::move(construct)});
  }
  ~SizeSite() {
    if (run_) run_->enter(std::move(before_));
  }
  SizeSite(const SizeSite&) = delete;
  SizeSite& operator=(const SizeSite&) = delete;

private:
  SizeRun* run_;
  SizeRun::Site before_;
};

/// Returns true if both are the same number or the same expression, without a question to the run.
inline bool identical(const Size& a, const Size& b) {
  return a.sample() == b.sample() && a.open() == b.open() && a.expr() == b.expr();
}

using OpenShape = llvm::SmallVector<Size, 5>;

/// TensorType with open sizes.
struct OpenType {
  DType dtype = DType::None;
  OpenShape shape;

  OpenType() = default;
  OpenType(DType dtype, OpenShape shape) : dtype(dtype), shape(std::move(shape)) {}
  OpenType(const TensorType& type) // NOLINT(google-explicit-constructor)
      : dtype(type.dtype), shape(type.shape.begin(), type.shape.end()) {}
  bool operator==(const OpenType& other) const;
  bool is_none() const { return dtype == DType::None; }
  bool open() const;
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  Size elements() const;
  const Size& operator[](size_t axis) const { return shape[axis]; }
  /// The type at the sample.
  TensorType sample() const;
  std::string text() const { return sample().text(); }
};

/// Value with open integers; for its members see there.
struct OpenValue {
  using Kind = Value::Kind;
  Kind kind = Kind::Int;
  Size number;
  double real = 0;
  llvm::SmallVector<Size, 4> ints;
  std::vector<double> reals;
  std::string text;

  OpenValue() = default;
  OpenValue(const Value& value); // NOLINT(google-explicit-constructor)
  static OpenValue of_int(Size n);
  static OpenValue of_ints(llvm::ArrayRef<Size> ints);
  static OpenValue of_floats(std::vector<double> reals) {
    return Value::of_floats(std::move(reals));
  }
  static OpenValue of_enum(llvm::StringRef text) { return Value::of_enum(text); }
  static OpenValue of_string(llvm::StringRef text) { return Value::of_string(text); }
  static OpenValue of_type(const OpenType& type);

  bool is(Kind k) const { return kind == k; }
  bool open() const;
  OpenType as_type() const;
  /// The value at the sample.
  Value sample() const;
  std::string text_form() const { return sample().text_form(); }
};

} // namespace tg
