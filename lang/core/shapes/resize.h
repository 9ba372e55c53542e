// resize: sizes of the last axes, and the attributes of each mode.
// Attributes without effect get their defaults, so that equal operators are one node.
#include "lang/core/op.h"
#include "lang/core/resample.h"
#pragma once

#include "lang/core/shapes/attributes.h"

#include <algorithm>
#include <cmath>

namespace tg::shapes {

template <class In> const AttrInfo& row(const In& in, size_t slot) { return in.info.attrs()[slot]; }

template <class In> bool is_word(const In& in, size_t slot, llvm::ArrayRef<llvm::StringRef> words) {
  if (llvm::is_contained(words, in.attr(slot).text)) return true;
  std::string list;
  for (size_t i = 0; i < words.size(); ++i)
    list += (i == 0 ? "\"" : i + 1 == words.size() ? " or \"" : ", \"") + words[i].str() + "\"";
  return in.fail("`{0}` must be {1}, got {2}", row(in, slot).name, list, in.attr(slot));
}

/// Reads the list as floats: none, or `count` finite ones.
template <class In> bool read_list(In& in, size_t slot, size_t count) {
  std::vector<double> numbers = in.attr(slot).reals;
  for (const auto& n : in.attr(slot).ints) numbers.push_back(static_cast<double>(fixed(n)));
  bool fits = numbers.empty() || numbers.size() == count;
  if (!fits || !llvm::all_of(numbers, [](double x) { return std::isfinite(x); }))
    return in.fail("`{0}` must be {1} finite numbers for `sizes` = {2}, got {3}",
                   row(in, slot).name, count, in.attr(ResizeSlot::Sizes), in.attr(slot));
  in.set(slot, Value::of_floats(std::move(numbers)));
  return true;
}

template <class In> void set_default(In& in, size_t slot) {
  in.set(slot, default_value(row(in, slot)));
}

/// A size must be the old one times its scale, rounded in some way.
template <class In> bool scales_fit(In& in, bool& exact) {
  constexpr double kRoundedBy = 1.001, kLeast = 0.499;
  const std::vector<double>& scales = in.attr(ResizeSlot::Scales).reals;
  llvm::ArrayRef<typename In::Int> sizes = in.attr(ResizeSlot::Sizes).ints;
  size_t first = in.type(0).shape.size() - sizes.size();
  exact = true;
  for (size_t i = 0; i < scales.size(); ++i) {
    auto old = static_cast<double>(fixed(in.type(0).shape[first + i]));
    auto size = static_cast<double>(fixed(sizes[i]));
    if (!(scales[i] * old > kLeast && std::abs(scales[i] * old - size) < kRoundedBy))
      return in.fail("`scales` = {0} do not give {1} for {2}", in.attr(ResizeSlot::Scales),
                     in.attr(ResizeSlot::Sizes), in.type(0));
    exact &= scales[i] == size / old;
  }
  return true;
}

/// Positions of "nearest" are computed in float, which represents all integers up to this one.
constexpr int64_t kMostNearest = int64_t{1} << 24;

/// Returns true if floats represent the positions of all resized axes.
template <class In> bool nearest_fits(In& in, llvm::ArrayRef<typename In::Int> sizes) {
  using Ints = llvm::ArrayRef<typename In::Int>;
  Ints before = Ints(in.type(0).shape).take_back(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    if ((exceeds(sizes[i], kMostNearest) || exceeds(before[i], kMostNearest)) &&
        sizes[i] != before[i])
      return in.fail("`mode` = \"nearest\" resizes axes of at most {0} elements, got {1} to {2}",
                     kMostNearest, before[i], sizes[i]);
  return true;
}

/// Returns true if the mode accepts the attributes. Those that it ignores get their defaults.
template <class In> bool mode_fits(In& in) {
  const std::string& mode = in.attr(ResizeSlot::Mode).text;
  bool nearest = mode == "nearest", antialias = fixed(in.attr(ResizeSlot::Antialias).number) != 0;
  if (!nearest && !is_float(in.type(0).dtype))
    return in.fail("`mode` = \"{0}\" requires floats, got {1}: use \"nearest\" for integers", mode,
                   in.type(0));
  if (nearest && antialias) return in.fail("`mode` = \"nearest\" does not support `antialias`");
  if (!std::isfinite(in.attr(ResizeSlot::CubicA).real))
    return in.fail("`cubic_a` must be finite, got {0}", in.attr(ResizeSlot::CubicA));
  if (nearest) set_default(in, ResizeSlot::ExcludeOutside);
  if (!nearest) set_default(in, ResizeSlot::Rounding);
  if (mode != "cubic") set_default(in, ResizeSlot::CubicA);
  return true;
}

template <class In> bool resize(In& in) {
  using Int = typename In::Int;
  const auto& x = in.type(0);
  llvm::SmallVector<Int, 4> sizes = in.attr(ResizeSlot::Sizes).ints;
  if (sizes.empty() || sizes.size() > x.shape.size())
    return in.fail("`sizes` must have a size for each of the last axes that are resized, 1 to {0} "
                   "of {1}, got {2}",
                   x.rank(), x, in.attr(ResizeSlot::Sizes));
  if (!in_range(in, row(in, ResizeSlot::Sizes), sizes, 1) ||
      !is_word(in, ResizeSlot::Mode, resize_modes()) ||
      !is_word(in, ResizeSlot::Coordinates, resize_coordinates()) ||
      !is_word(in, ResizeSlot::Rounding, resize_roundings()) || !mode_fits(in) ||
      (in.attr(ResizeSlot::Mode).text == "nearest" &&
       !nearest_fits(in, llvm::ArrayRef<Int>(sizes))) ||
      !read_list(in, ResizeSlot::Scales, sizes.size()) ||
      !read_list(in, ResizeSlot::Region, 2 * sizes.size()))
    return false;
  const std::string& coordinates = in.attr(ResizeSlot::Coordinates).text;
  bool crops = coordinates == "tf_crop_and_resize";
  if (crops == in.attr(ResizeSlot::Region).reals.empty())
    return in.fail("`region` requires `coordinates` = \"tf_crop_and_resize\", got {0} and "
                   "\"{1}\"",
                   in.attr(ResizeSlot::Region), coordinates);
  bool exact = true;
  if (!scales_fit(in, exact)) return false;
  bool ignored =
      coordinates == "align_corners" && fixed(in.attr(ResizeSlot::Antialias).number) == 0;
  if (exact || ignored) set_default(in, ResizeSlot::Scales);
  in.result = x;
  std::copy(sizes.begin(), sizes.end(), in.result.shape.end() - sizes.size());
  return true;
}

} // namespace tg::shapes
