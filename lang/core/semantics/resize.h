// resize (lang/core/resample.h): each element is a sum over the taps of all axes.
// Included through impl.h.
#pragma once

#include "lang/core/resample.h"
#include "lang/core/semantics/walk.h"

namespace tg {

namespace semantics {

template <class T> class Resampler {
  using W = WideOf<T>;

public:
  Resampler(const Resize& resize, llvm::ArrayRef<int64_t> shape) {
    for (size_t i = 0; i < resize.axes.size(); ++i) {
      Axis axis{axis_taps(resize.how, resize.axes[i]),
                {},
                product(shape.drop_front(resize.first_axis + i + 1))};
      selects_ &= axis.taps.is_selection();
      for (double weight : axis.taps.weights) axis.weights.push_back(Math<W>::literal(weight));
      axes_.push_back(std::move(axis));
    }
  }

  /// Computes the elements of one tensor of the resized axes; returns the end of the result.
  T* run(const T* x, T* out) const {
    Index index(axes_.size());
    return axis(0, x, out, index);
  }

private:
  struct Axis {
    AxisTaps taps;
    std::vector<W> weights;
    int64_t stride; // elements of x between neighbouring places
  };
  using Index = llvm::SmallVector<int64_t, 8>;

  T* axis(size_t at, const T* x, T* out, Index& index) const {
    if (at == axes_.size()) {
      *out = selects_ ? x[selected(index)] : static_cast<T>(sum(x, index));
      return out + 1;
    }
    for (int64_t i = 0; i < axes_[at].taps.results(); ++i) {
      index[at] = i;
      out = axis(at + 1, x, out, index);
    }
    return out;
  }

  int64_t selected(llvm::ArrayRef<int64_t> index) const {
    int64_t offset = 0;
    for (size_t at = 0; at < axes_.size(); ++at)
      offset += axes_[at].taps.places[static_cast<size_t>(index[at])] * axes_[at].stride;
    return offset;
  }

  W sum(const T* x, llvm::ArrayRef<int64_t> index) const {
    W total{};
    add(0, x, nullptr, index, total);
    return total;
  }

  /// Adds the taps of axis `at` and the following axes, times the weight of the previous ones.
  void add(size_t at, const T* x, const W* weight, llvm::ArrayRef<int64_t> index, W& total) const {
    if (at == axes_.size()) {
      total = total + *weight * static_cast<W>(*x);
      return;
    }
    const Axis& axis = axes_[at];
    auto i = static_cast<size_t>(index[at]);
    for (auto k = static_cast<size_t>(axis.taps.first[i]);
         k < static_cast<size_t>(axis.taps.first[i + 1]); ++k) {
      W product = weight ? *weight * axis.weights[k] : axis.weights[k];
      add(at + 1, x + axis.taps.places[k] * axis.stride, &product, index, total);
    }
  }

  std::vector<Axis> axes_;
  bool selects_ = true; // each element is an unchanged element of x
};

template <class T> void resize(AttrValues attrs, const ConstView<T>& x, View<T> result) {
  Resize resize(attrs, x.shape);
  Resampler<T> resampler(resize, x.shape);
  int64_t outer = product(x.shape.take_front(resize.first_axis));
  int64_t inner = product(x.shape.drop_front(resize.first_axis));
  T* out = result.data;
  for (int64_t o = 0; o < outer; ++o) out = resampler.run(x.data + o * inner, out);
}

TG_MEANING(Resize) { resize(in.attrs, in.x(), in.result); }

} // namespace semantics

} // namespace tg
