// non_max_suppression: for each class, the boxes with the best scores that do not overlap.
// Included through impl.h.
#pragma once

#include "lang/core/semantics/walk.h"

namespace tg {

namespace semantics {

/// The boxes and scores of one image, and the parameters of the selection.
struct BoxSelection {
  const double* boxes; // [count, 4]
  int64_t count, most;
  double overlap, least_score;
  bool centred;

  struct Corners {
    double top, left, bottom, right;
    double area() const { return (bottom - top) * (right - left); }
  };
  Corners corners(int64_t box) const {
    const double* at = boxes + box * 4;
    if (centred)
      return {at[1] - at[3] / 2, at[0] - at[2] / 2, at[1] + at[3] / 2, at[0] + at[2] / 2};
    return {std::min(at[0], at[2]), std::min(at[1], at[3]), std::max(at[0], at[2]),
            std::max(at[1], at[3])};
  }

  bool overlaps(int64_t one, int64_t other) const {
    Corners a = corners(one), b = corners(other);
    double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    double width = std::min(a.right, b.right) - std::max(a.left, b.left);
    double both = std::max(height, 0.0) * std::max(width, 0.0);
    if (!(both > 0) || a.area() <= 0 || b.area() <= 0) return false;
    return both / (a.area() + b.area() - both) > overlap;
  }

  llvm::SmallVector<int64_t, 16> of_class(const double* scores) const {
    llvm::SmallVector<int64_t, 64> candidates;
    for (int64_t box = 0; box < count; ++box)
      if (scores[box] > least_score) candidates.push_back(box);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
    llvm::SmallVector<int64_t, 16> chosen;
    for (int64_t box : candidates) {
      if (static_cast<int64_t>(chosen.size()) == most) break;
      if (!llvm::any_of(chosen, [&](int64_t better) { return overlaps(box, better); }))
        chosen.push_back(box);
    }
    return chosen;
  }
};

/// Returns the attributes as the name of a function.
inline std::string text_of_attributes(AttrValues attrs) {
  std::string text;
  for (const Value* value : attrs) text += value->text_form() + " ";
  return text;
}

/// For scalars without an order, the result is a function of all boxes and scores.
template <class T>
void non_max_suppression(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result) {
  using W = WideOf<T>;
  if constexpr (std::is_same_v<W, double>) {
    std::vector<double> boxes(operands[0].data, operands[0].data + operands[0].elements());
    std::vector<double> scores(operands[1].data, operands[1].data + operands[1].elements());
    llvm::ArrayRef<int64_t> shape = operands[1].shape;
    T* row = result.data;
    for (int64_t image = 0; image < shape[0]; ++image) {
      BoxSelection selection{boxes.data() + image * shape[2] * 4,
                             shape[2],
                             attrs[0]->number,
                             attrs[1]->real,
                             attrs[2]->real,
                             attrs[3]->number != 0};
      for (int64_t c = 0; c < shape[1]; ++c)
        for (int64_t box : selection.of_class(scores.data() + (image * shape[1] + c) * shape[2]))
          for (int64_t number : {image, c, box}) *row++ = static_cast<T>(number);
    }
    std::fill(row, result.data + result.elements(), static_cast<T>(-1));
  } else if constexpr (requires { typename Math<W>::External; }) {
    typename Math<W>::External function("non_max_suppression", text_of_attributes(attrs));
    for (const ConstView<T>& operand : operands) {
      function.shape(operand.shape);
      for (int64_t i = 0, count = operand.elements(); i < count; ++i)
        function.element(static_cast<W>(operand.data[i]));
    }
    for (int64_t i = 0, count = result.elements(); i < count; ++i)
      result.data[i] = static_cast<T>(function.at(i));
  } else {
    assert(false && "this scalar type has no order");
  }
}

TG_MEANING(NonMaxSuppression) { non_max_suppression(in.attrs, in.operands, in.result); }

} // namespace semantics

} // namespace tg
