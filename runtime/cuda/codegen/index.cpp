#include "runtime/cuda/codegen/index.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tg::cuda {

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

/// Returns the greatest common divisor of all factors and `by`.
int64_t common_factor(const IndexForm& form, int64_t by) {
  for (const IndexTerm& term : form.terms) by = std::gcd(by, term.factor);
  return by;
}

} // namespace

uint32_t IndexPool::intern(const IndexAtom& atom, int64_t low, int64_t high, uint64_t variables) {
  auto [it, fresh] = atom_index_.try_emplace(atom.key(), static_cast<uint32_t>(atoms_.size()));
  if (fresh) {
    atoms_.push_back(atom);
    ranges_.push_back({low, high, variables});
  }
  return it->second;
}

bool IndexPool::quotient_atom(const IndexAtom& remainder, uint32_t& atom) {
  const IndexForm quotient = forms_[divide(remainder.of, remainder.by)];
  if (quotient.terms.size() != 1 || quotient.constant != 0 || quotient.terms[0].factor != 1)
    return false;
  atom = quotient.terms[0].atom;
  return true;
}

bool IndexPool::rejoin(Terms& terms, int64_t& constant) {
  for (size_t i = 0; i < terms.size(); ++i) {
    const IndexAtom atom = atoms_[terms[i].atom];
    uint32_t quotient = 0;
    if (atom.kind != IndexAtom::Kind::Remainder || !quotient_atom(atom, quotient)) continue;
    int64_t factor = terms[i].factor;
    for (size_t j = 0; j < terms.size(); ++j) {
      if (terms[j].atom != quotient || terms[j].factor != factor * atom.by) continue;
      terms.erase(terms.begin() + std::max(i, j));
      terms.erase(terms.begin() + std::min(i, j));
      for (const IndexTerm& term : forms_[atom.of].terms)
        terms.push_back({term.atom, term.factor * factor});
      constant += forms_[atom.of].constant * factor;
      return true;
    }
  }
  return false;
}

IndexId IndexPool::intern(Terms terms, int64_t constant) {
  do {
    std::sort(terms.begin(), terms.end());
    Terms merged;
    for (const IndexTerm& term : terms)
      if (!merged.empty() && merged.back().atom == term.atom)
        merged.back().factor += term.factor;
      else
        merged.push_back(term);
    llvm::erase_if(merged, [](const IndexTerm& term) { return term.factor == 0; });
    terms = std::move(merged);
  } while (rejoin(terms, constant));

  std::vector<IndexTerm> key(terms.begin(), terms.end());
  auto [it, fresh] = form_index_.try_emplace({std::move(key), constant}, forms_.size());
  if (!fresh) return it->second;
  IndexForm form{terms, constant, constant, constant, 0};
  for (const IndexTerm& term : terms) {
    const Range& range = ranges_[term.atom];
    form.low += term.factor * (term.factor > 0 ? range.low : range.high);
    form.high += term.factor * (term.factor > 0 ? range.high : range.low);
    form.variables |= range.variables;
  }
  forms_.push_back(std::move(form));
  return it->second;
}

IndexId IndexPool::constant(int64_t value) { return intern(Terms{}, value); }

IndexId IndexPool::variable(uint32_t number, int64_t extent) {
  assert(number < 64 && extent > 0);
  if (extent == 1) return constant(0);
  return of_atom(
      intern({IndexAtom::Kind::Variable, number, extent}, 0, extent - 1, uint64_t{1} << number));
}

IndexId IndexPool::loaded(uint32_t value, int64_t low, int64_t high, uint64_t variables) {
  return of_atom(intern({IndexAtom::Kind::Loaded, value, high}, low, high, variables));
}

IndexId IndexPool::add(IndexId a, IndexId b) {
  Terms terms = forms_[a].terms;
  terms.append(forms_[b].terms.begin(), forms_[b].terms.end());
  return intern(std::move(terms), forms_[a].constant + forms_[b].constant);
}

IndexId IndexPool::scale(IndexId a, int64_t factor) {
  Terms terms = forms_[a].terms;
  for (IndexTerm& term : terms) term.factor *= factor;
  return intern(std::move(terms), forms_[a].constant * factor);
}

IndexId IndexPool::without_factor(const IndexForm& form, int64_t factor) {
  Terms smaller = form.terms;
  for (IndexTerm& term : smaller) term.factor /= factor;
  return intern(std::move(smaller), floor_div(form.constant, factor));
}

IndexId IndexPool::divide(IndexId a, int64_t by) {
  assert(by > 0);
  const IndexForm form = forms_[a];
  if (by == 1) return a;
  if (form.terms.empty()) return constant(floor_div(form.constant, by));
  // Terms that the divisor divides are moved out of the division.
  Terms whole, rest;
  for (IndexTerm term : form.terms) {
    bool out = term.factor % by == 0;
    if (out) term.factor /= by;
    (out ? whole : rest).push_back(term);
  }
  int64_t quotient = floor_div(form.constant, by), constant = form.constant - quotient * by;
  IndexId outer = intern(whole, quotient), inner = intern(rest, constant);
  const IndexForm remaining = forms_[inner];
  if (remaining.low >= 0 && remaining.high < by) return outer;
  // A common factor of the remainder and the divisor cancels.
  if (int64_t common = common_factor(remaining, by); common > 1)
    return add(outer, divide(without_factor(remaining, common), by / common));
  // A quotient of a quotient is one quotient.
  if (remaining.terms.size() == 1 && remaining.constant == 0 && remaining.terms[0].factor == 1) {
    const IndexAtom atom = atoms_[remaining.terms[0].atom];
    if (atom.kind == IndexAtom::Kind::Quotient) return add(outer, divide(atom.of, atom.by * by));
  }
  uint32_t atom = intern({IndexAtom::Kind::Quotient, inner, by}, floor_div(remaining.low, by),
                         floor_div(remaining.high, by), remaining.variables);
  return add(outer, of_atom(atom));
}

IndexId IndexPool::modulo(IndexId a, int64_t by) {
  assert(by > 0);
  const IndexForm form = forms_[a];
  if (by == 1) return constant(0);
  Terms rest;
  for (const IndexTerm& term : form.terms)
    if (term.factor % by != 0) rest.push_back(term);
  IndexId inner = intern(rest, form.constant - floor_div(form.constant, by) * by);
  const IndexForm remaining = forms_[inner];
  if (remaining.low >= 0 && remaining.high < by) return inner;
  if (int64_t common = common_factor(remaining, by); common > 1) {
    int64_t kept = remaining.constant - floor_div(remaining.constant, common) * common;
    return shift(scale(modulo(without_factor(remaining, common), by / common), common), kept);
  }
  uint32_t atom = intern({IndexAtom::Kind::Remainder, inner, by}, 0, by - 1, remaining.variables);
  return of_atom(atom);
}

IndexId IndexPool::offset(llvm::ArrayRef<IndexId> index, llvm::ArrayRef<int64_t> strides) {
  IndexId sum = constant(0);
  for (size_t axis = 0; axis < index.size(); ++axis)
    sum = add(sum, scale(index[axis], strides[axis]));
  return sum;
}

llvm::SmallVector<IndexId, 5> IndexPool::split(IndexId offset, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<IndexId, 5> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    bool first = true; // no larger axis before it: the remainder is the coordinate
    for (size_t before = 0; before < axis; ++before) first &= shape[before] == 1;
    index[axis] = first ? offset : modulo(offset, shape[axis]);
    offset = first ? constant(0) : divide(offset, shape[axis]);
  }
  return index;
}

bool IndexPool::divisible(IndexId id, int64_t by) const {
  const IndexForm& form = forms_[id];
  return form.constant % by == 0 &&
         llvm::all_of(form.terms, [&](const IndexTerm& term) { return term.factor % by == 0; });
}

int64_t IndexPool::distance(IndexId a, IndexId b) {
  IndexId difference = subtract(b, a);
  return is_constant(difference) ? forms_[difference].constant : INT64_MIN;
}

} // namespace tg::cuda
