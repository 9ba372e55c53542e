// Integer expressions over loop variables: the memory offsets of elements.
// Every expression is an interned linear form over atoms (a variable;
// a quotient or remainder of another expression by a constant;
// a number read from memory), with the range of its values.
// Operators that move elements (reshape, transpose, slice, pad, concat)
// become arithmetic on these forms, and the rules below cancel terms:
// a reshape after a transpose after a reshape is one form, mostly without a division.
//
//   (g X + r) div c  =  X div (c / g)               g divides c, 0 <= r < g
//   (c X + Y) div c  =  X + Y div c                 likewise mod; 0 <= Y < c makes it X (and Y)
//   k (E mod c) + k c (E div c)  =  k E             so linear addresses are merged again
//
// Division rounds down. Invariant: terms are sorted by atom, without zero factors;
// equal ids mean equal forms.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

namespace tg::cuda {

using IndexId = uint32_t;

struct IndexAtom {
  enum class Kind : uint8_t { Variable, Quotient, Remainder, Loaded };
  Kind kind{};
  uint32_t of = 0; // the variable, the dividend, or the value that is read
  int64_t by = 0;  // the divisor
  auto key() const { return std::make_tuple(kind, of, by); }
};

struct IndexTerm {
  uint32_t atom = 0;
  int64_t factor = 0;
  bool operator==(const IndexTerm&) const = default;
  bool operator<(const IndexTerm& o) const {
    return std::tie(atom, factor) < std::tie(o.atom, o.factor);
  }
};

struct IndexForm {
  llvm::SmallVector<IndexTerm, 4> terms;
  int64_t constant = 0;
  int64_t low = 0, high = 0; // inclusive
  uint64_t variables = 0;    // bit v: depends on variable v, also through atoms
};

class IndexPool {
public:
  IndexId constant(int64_t value);
  /// A variable that runs from 0 to extent - 1. Numbers are below 64.
  IndexId variable(uint32_t number, int64_t extent);
  /// An integer that the kernel reads from memory (`value` identifies it), known to be in range.
  IndexId loaded(uint32_t value, int64_t low, int64_t high, uint64_t variables);

  IndexId add(IndexId a, IndexId b);
  IndexId shift(IndexId a, int64_t by) { return add(a, constant(by)); }
  IndexId scale(IndexId a, int64_t factor);
  IndexId subtract(IndexId a, IndexId b) { return add(a, scale(b, -1)); }
  /// Division by a positive constant, rounded down; and its remainder.
  IndexId divide(IndexId a, int64_t by);
  IndexId modulo(IndexId a, int64_t by);

  /// Returns the sum of index * stride over the axes.
  IndexId offset(llvm::ArrayRef<IndexId> index, llvm::ArrayRef<int64_t> strides);
  /// Returns the coordinates, in row-major order, of an offset in a shape.
  llvm::SmallVector<IndexId, 5> split(IndexId offset, llvm::ArrayRef<int64_t> shape);

  const IndexForm& form(IndexId id) const { return forms_[id]; }
  const IndexAtom& atom(uint32_t id) const { return atoms_[id]; }
  bool is_constant(IndexId id) const { return forms_[id].terms.empty(); }
  /// Returns true if `by` divides the value for all variables: every factor and the constant.
  bool divisible(IndexId id, int64_t by) const;
  /// Returns b - a if that is a constant, else INT64_MIN.
  int64_t distance(IndexId a, IndexId b);

private:
  using Terms = llvm::SmallVector<IndexTerm, 4>;

  IndexId intern(Terms terms, int64_t constant);
  /// Returns the form divided by a factor of all its terms; the remainder of the constant
  /// is dropped.
  IndexId without_factor(const IndexForm& form, int64_t factor);
  uint32_t intern(const IndexAtom& atom, int64_t low, int64_t high, uint64_t variables);
  IndexId of_atom(uint32_t atom) { return intern({{atom, 1}}, 0); }
  bool rejoin(Terms& terms, int64_t& constant);
  /// Returns the atom of E div c for the remainder atom E mod c, if that quotient is a single atom.
  bool quotient_atom(const IndexAtom& remainder, uint32_t& atom);

  struct Range {
    int64_t low, high;
    uint64_t variables;
  };
  std::vector<IndexAtom> atoms_;
  std::vector<Range> ranges_;   // of atoms
  std::deque<IndexForm> forms_; // references stay valid
  std::map<std::tuple<IndexAtom::Kind, uint32_t, int64_t>, uint32_t> atom_index_;
  std::map<std::pair<std::vector<IndexTerm>, int64_t>, IndexId> form_index_;
};

} // namespace tg::cuda
