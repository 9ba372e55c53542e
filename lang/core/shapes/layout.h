// Rules of operators that move elements: slices, concatenation, permutations, gathers.
#pragma once

#include "lang/core/shapes/attributes.h"

#include <llvm/ADT/SmallBitVector.h>

#include <algorithm>

namespace tg::shapes {

template <class In> bool concat(In& in) {
  int64_t axis = fixed(in.attr(0).number);
  in.result = in.type(0);
  for (size_t i = 1; i < in.operands.size(); ++i) {
    const auto& x = in.type(i);
    bool fits = x.rank() == in.result.rank();
    for (int64_t d = 0; fits && d < x.rank(); ++d) fits = d == axis || x[d] == in.result[d];
    if (!fits) return in.fail("{0} and {1} differ outside of axis {2}", in.type(0), x, axis);
    in.result.shape[axis] += x[axis];
  }
  return true;
}

template <class In> bool slice(In& in) {
  in.result = in.type(0);
  using V = typename In::Value;
  int64_t axis = fixed(in.attr(0).number);
  typename In::Int size = in.result[axis], start = in.attr(1).number, stop = in.attr(2).number;
  if (start < 0) start += size;
  if (stop < 0) stop += size;
  if (start < 0 || start >= stop || stop > size)
    return in.fail("{0}:{1} is not a range of axis {2} of {3}", in.attr(1).number,
                   in.attr(2).number, axis, in.type(0));
  in.set(1, V::of_int(start));
  in.set(2, V::of_int(stop));
  in.result.shape[axis] = stop - start;
  return true;
}

template <class In> bool windows(In& in) {
  in.result = in.type(0);
  using Int = typename In::Int;
  int64_t axis = fixed(in.attr(0).number);
  Int elements = in.result[static_cast<size_t>(axis)];
  for (size_t slot : {1, 2, 3})
    if (!in_range(in, in.info.attrs()[slot], llvm::ArrayRef<Int>(in.attr(slot).number), 1))
      return false;
  Int size = in.attr(1).number, step = in.attr(2).number, dilation = in.attr(3).number;
  if (size - 1 > (elements - 1) / dilation)
    return in.fail("axis {0} of {1} has no window of {2} elements, {3} apart", axis, in.type(0),
                   size, dilation);
  in.result.shape[axis] = (elements - dilation * (size - 1) - 1) / step + 1;
  in.result.shape.insert(in.result.shape.begin() + axis + 1, size);
  return true;
}

template <class In> bool split(In& in) { return in.fail("split does not have a single result"); }

template <class In> bool reshape(In& in) {
  const auto& x = in.type(0);
  auto shape = in.attr(0);
  typename In::Int known = 1;
  int64_t unknown = -1;
  for (size_t i = 0; i < shape.ints.size(); ++i) {
    typename In::Int dim = shape.ints[i];
    if (unknown < 0 && dim == -1) {
      unknown = static_cast<int64_t>(i);
    } else if (dim < 1 || product_exceeds(known, dim, kMaxElements)) {
      return in.fail("{0} is not a shape", shape);
    } else {
      known *= dim;
    }
  }
  if (unknown >= 0) shape.ints[unknown] = x.elements() / known;
  in.result = {x.dtype, typename In::Shape(shape.ints.begin(), shape.ints.end())};
  if (unknown >= 0 ? known * shape.ints[unknown] != x.elements() || shape.ints[unknown] < 1
                   : known != x.elements())
    return in.fail("{0} has {1} elements, which do not fill {2}", x, x.elements(), in.attr(0));
  in.set(0, shape);
  return true;
}

template <class In> bool transpose(In& in) {
  const auto& x = in.type(0);
  const auto& perm = in.attr(0);
  llvm::SmallBitVector seen(static_cast<unsigned>(x.rank()));
  for (const auto& axis : perm.ints) seen.set(static_cast<unsigned>(fixed(axis)));
  if (static_cast<int64_t>(perm.ints.size()) != x.rank() || !seen.all())
    return in.fail("{0} is not a permutation of the {1} axes of {2}", perm, x.rank(), x);
  in.result.dtype = x.dtype;
  for (const auto& axis : perm.ints) in.result.shape.push_back(x[fixed(axis)]);
  return true;
}

template <class In> bool pad(In& in) {
  in.result = in.type(0);
  const auto &before = in.attr(0), &after = in.attr(1);
  size_t rank = in.result.shape.size();
  if (before.ints.size() != rank || after.ints.size() != rank)
    return in.fail("`before` and `after` need one number for each of the {0} axes", rank);
  for (size_t i = 0; i < rank; ++i) {
    if (before.ints[i] < 0 || after.ints[i] < 0 || exceeds(before.ints[i], kMaxElements) ||
        exceeds(after.ints[i], kMaxElements))
      return in.fail("padding must not be negative, got {0} and {1}", before, after);
    in.result.shape[i] += before.ints[i] + after.ints[i];
  }
  if (literal_fits(closed(in.attr(2)), in.result.dtype)) return true;
  return in.fail("{0} is not a value of {1}", in.attr(2), dtype_name(in.result.dtype));
}

template <class In> bool broadcast_to(In& in) {
  using Ints = llvm::ArrayRef<typename In::Int>;
  const auto& x = in.type(0);
  Ints shape = in.attr(0).ints;
  in.result = {x.dtype, typename In::Shape(shape.begin(), shape.end())};
  typename In::Shape both;
  if (broadcast_together(Ints(x.shape), shape, both) && both == in.result.shape) return true;
  return in.fail("{0} does not broadcast to {1}", x, shape);
}

template <class In> bool gather(In& in) {
  const auto &x = in.type(0), &indices = in.type(1);
  if (!is_integer(indices.dtype)) return in.fail("indices must be i32 or i64, got {0}", indices);
  size_t axis = static_cast<size_t>(fixed(in.attr(0).number));
  llvm::ArrayRef<typename In::Int> shape = x.shape;
  in.result = {x.dtype, typename In::Shape(shape.begin(), shape.begin() + axis)};
  in.result.shape.append(indices.shape.begin(), indices.shape.end());
  in.result.shape.append(shape.begin() + axis + 1, shape.end());
  return true;
}

template <class In> bool scatter(In& in) {
  const auto &x = in.type(0), &indices = in.type(1), &updates = in.type(2);
  if (!is_integer(indices.dtype)) return in.fail("indices must be i32 or i64, got {0}", indices);
  if (indices.rank() != 1) return in.fail("indices must be a vector, got {0}", indices);
  auto wanted = x;
  wanted.shape[static_cast<size_t>(fixed(in.attr(0).number))] = indices[0];
  if (!(updates == wanted)) return in.fail("updates must be {0}, got {1}", wanted, updates);
  llvm::StringRef reduce = in.attr(1).text;
  if (!parse_scatter_reduce(reduce))
    return in.fail("`reduce` must be none, add, mul, max or min, in quotes, got {0}", in.attr(1));
  if (x.dtype == DType::Bool && reduce != "none")
    return in.fail("`reduce` = {0} requires numbers, got {1}", in.attr(1), x);
  in.result = x;
  return true;
}

} // namespace tg::shapes
