// An equation over named axes becomes transposes, sums and one product for each operand after
// the first, from left to right. An axis is summed as soon as neither the result nor another
// operand needs it.
//
// Invariant: a term's labels are distinct, one for each axis of its tensor.
#include "compiler/import/onnx/read/forms/einsum.h"

#include <llvm/ADT/StringExtras.h>

#include <map>

namespace tg::onnx {
namespace {

/// A label of the equation, or a small number for an axis of an ellipsis, counted from the back.
using Labels = std::string;

struct Term {
  NodeId x;
  Labels labels;
};

struct Equation {
  std::vector<Labels> inputs; // with '.' for an ellipsis
  std::optional<Labels> output;
};

bool has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

// --- the equation --------------------------------------------------------------------------------

/// Parses letters and at most one ellipsis, stored as '.'. Fails for other text.
Labels read_term(Call& call, llvm::StringRef text) {
  Labels made;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (has(made, '.')) call.fail("its equation has two ellipses in one term");
      made += '.';
      continue;
    }
    if (!llvm::isAlpha(text[0])) {
      call.fail("its equation cannot be parsed at `" + text + "`");
      return {};
    }
    made += text[0];
    text = text.drop_front();
  }
  return made;
}

Equation read_equation(Call& call) {
  std::string text = call.text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  llvm::StringRef left = text, right;
  Equation made;
  size_t arrow = left.find("->");
  if (arrow != llvm::StringRef::npos) {
    right = left.drop_front(arrow + 2);
    left = left.take_front(arrow);
    made.output = read_term(call, right);
  }
  llvm::SmallVector<llvm::StringRef, 4> terms;
  left.split(terms, ',');
  for (llvm::StringRef term : terms) made.inputs.push_back(read_term(call, term));
  return made;
}

/// Replaces the ellipsis by labels for `axes` axes: the last is 1, the one before 2.
Labels spelled(const Labels& labels, size_t axes) {
  size_t dots = labels.find('.');
  if (dots == Labels::npos) return labels;
  Labels between;
  for (size_t i = axes; i > 0; --i) between += static_cast<char>(i);
  return labels.substr(0, dots) + between + labels.substr(dots + 1);
}

/// Without "->": the ellipsis, then labels that occur once, sorted.
Labels implied_output(llvm::ArrayRef<Labels> inputs) {
  std::map<char, int> counts;
  for (const Labels& labels : inputs)
    for (char label : labels) ++counts[label];
  Labels made;
  for (auto [label, count] : counts)
    if (count == 1 && label != '.') made += label;
  return (counts.count('.') ? "." : "") + made;
}

// --- one term ------------------------------------------------------------------------------------

int64_t size_of(Emitter& e, const Term& term, char label) {
  size_t axis = term.labels.find(label);
  return axis == Labels::npos || !term.x.valid() ? 1 : e.shape(term.x)[axis];
}

/// Returns the term with its axes in this order; missing labels get an axis of 1.
NodeId arranged(Emitter& e, const Term& term, const Labels& order) {
  Shape perm, shape;
  for (char label : order) {
    size_t axis = term.labels.find(label);
    if (axis != Labels::npos) perm.push_back(static_cast<int64_t>(axis));
    shape.push_back(size_of(e, term, label));
  }
  return e.reshape(e.transpose(term.x, perm), shape);
}

/// Returns the first two positions of a repeated label; none if all are distinct.
std::optional<std::pair<size_t, size_t>> repeated(const Labels& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    size_t again = labels.find(labels[i], i + 1);
    if (again != Labels::npos) return std::pair{i, again};
  }
  return std::nullopt;
}

/// Replaces two axes of the same label by one, the last, with the elements on their diagonal.
Term diagonal(Emitter& e, const Term& term, size_t first, size_t second) {
  Shape perm, places;
  Labels labels;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (i == first || i == second) continue;
    perm.push_back(static_cast<int64_t>(i));
    labels += term.labels[i];
  }
  auto last = static_cast<int64_t>(perm.size());
  perm.append({static_cast<int64_t>(first), static_cast<int64_t>(second)});
  NodeId turned = e.transpose(term.x, perm);
  if (!turned.valid()) return {};
  int64_t size = e.shape(turned).back();
  Shape flat(e.shape(turned).begin(), e.shape(turned).end() - 2);
  flat.push_back(size * size);
  for (int64_t i = 0; i < size; ++i) places.push_back(i * (size + 1));
  return {e.take(e.reshape(turned, flat), last, places), labels + term.labels[first]};
}

/// Sums over all labels that are not kept.
Term summed(Emitter& e, Term term, const Labels& kept) {
  Shape axes;
  Labels labels;
  for (size_t i = 0; i < term.labels.size(); ++i)
    if (has(kept, term.labels[i]))
      labels += term.labels[i];
    else
      axes.push_back(static_cast<int64_t>(i));
  if (axes.empty()) return term;
  return {e.reduce(OpKind::ReduceSum, term.x, axes, false), labels};
}

/// Removes the axes of 1 that are longer in other terms: those broadcast.
Term without_ones(Emitter& e, const Term& term, const std::map<char, int64_t>& sizes) {
  Labels labels;
  Shape shape;
  for (char label : term.labels) {
    int64_t size = size_of(e, term, label);
    if (size == 1 && sizes.at(label) != 1) continue;
    labels += label;
    shape.push_back(size);
  }
  return {e.reshape(term.x, shape), labels};
}

// --- two terms -----------------------------------------------------------------------------------

int64_t product_of(Emitter& e, const Term& term, const Labels& labels) {
  int64_t product = 1;
  for (char label : labels) product *= size_of(e, term, label);
  return product;
}

/// Returns the product of two terms, summed over labels that are not kept.
Term multiplied(Emitter& e, Term a, Term b, const Labels& kept) {
  a = summed(e, a, kept + b.labels);
  b = summed(e, b, kept + a.labels);
  Labels shared, inner, rows, columns;
  for (char label : a.labels)
    (!has(b.labels, label) ? rows : has(kept, label) ? shared : inner) += label;
  for (char label : b.labels)
    if (!has(a.labels, label)) columns += label;
  Labels all = shared + rows + columns;
  if (inner.empty()) return {e.mul(arranged(e, a, all), arranged(e, b, all)), all};
  Shape shape, left, right;
  for (char label : all) shape.push_back(std::max(size_of(e, a, label), size_of(e, b, label)));
  for (char label : shared) left.push_back(size_of(e, a, label));
  right = left;
  left.append({product_of(e, a, rows), product_of(e, a, inner)});
  right.append({product_of(e, a, inner), product_of(e, b, columns)});
  NodeId x = e.reshape(arranged(e, a, shared + rows + inner), left);
  NodeId y = e.reshape(arranged(e, b, shared + inner + columns), right);
  return {e.reshape(e.matmul(x, y), shape), all};
}

/// Converts operands to terms; fails if the equation does not fit them. `axes` receives the largest
/// number of axes of an ellipsis.
std::vector<Term> read_terms(Call& call, const Equation& equation, size_t& axes) {
  Emitter& e = call.emit();
  llvm::SmallVector<NodeId, 4> operands;
  for (size_t i = 0; i < call.input_count(); ++i) operands.push_back(call.input(i));
  if (operands.size() != equation.inputs.size())
    call.fail("its equation has " + llvm::Twine(equation.inputs.size()) + " terms, but it has " +
              llvm::Twine(operands.size()) + " inputs");
  if (call.failed()) return {};
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Labels& labels = equation.inputs[i];
    auto rank = static_cast<size_t>(e.rank(operands[i]));
    bool dots = has(labels, '.');
    size_t letters = labels.size() - (dots ? 1 : 0);
    if (rank < letters || (!dots && rank != letters)) {
      call.fail("its equation names " + llvm::Twine(letters) + " axes of " +
                e.type(operands[i]).text());
      return {};
    }
    if (dots) axes = std::max(axes, rank - letters);
    Term term{operands[i], spelled(labels, rank - letters)};
    while (auto twice = repeated(term.labels))
      term = diagonal(e, term, twice->first, twice->second);
    terms.push_back(std::move(term));
  }
  return terms;
}

} // namespace

void write_einsum(Call& call) {
  Emitter& e = call.emit();
  Equation equation = read_equation(call);
  if (call.failed()) return;
  size_t axes = 0;
  std::vector<Term> terms = read_terms(call, equation, axes);
  if (call.failed()) return;
  Labels output = equation.output.value_or(implied_output(equation.inputs));
  if (axes > 0 && !has(output, '.'))
    return void(call.fail("its equation sums over the axes of an ellipsis"));
  output = spelled(output, axes);
  std::map<char, int64_t> sizes;
  for (const Term& term : terms)
    for (char label : term.labels) {
      int64_t size = size_of(e, term, label);
      int64_t& found = sizes.try_emplace(label, size).first->second;
      if (found == 1) found = size;
      if (size != found && size != 1)
        return void(call.fail("its equation gives one axis the sizes " + llvm::Twine(found) +
                              " and " + llvm::Twine(size)));
    }
  for (size_t i = 0; i < output.size(); ++i)
    if (!sizes.count(output[i]) || has(output.substr(0, i), output[i]))
      return void(call.fail("its equation has a result with axes that are not in its inputs"));
  for (Term& term : terms) term = without_ones(e, term, sizes);
  Term made = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels kept = output;
    for (size_t k = i + 1; k < terms.size(); ++k) kept += terms[k].labels;
    made = multiplied(e, made, terms[i], kept);
  }
  made = summed(e, made, output);
  if (!call.failed()) call.result(arranged(e, made, output));
}

} // namespace tg::onnx
