// Rules of operators that move elements: slices, concatenation, permutations, gathers.
#include "lang/core/shapes/inference.h"

#include <llvm/ADT/SmallBitVector.h>

#include <algorithm>

namespace tg::shapes {

bool concat(Inference& in) {
  int64_t axis = in.attr(0).number;
  in.result = in.type(0);
  for (size_t i = 1; i < in.operands.size(); ++i) {
    const TensorType& x = in.type(i);
    bool fits = x.rank() == in.result.rank();
    for (int64_t d = 0; fits && d < x.rank(); ++d) fits = d == axis || x[d] == in.result[d];
    if (!fits) return in.fail("{0} and {1} differ outside of axis {2}", in.type(0), x, axis);
    in.result.shape[axis] += x[axis];
  }
  return true;
}

bool slice(Inference& in) {
  in.result = in.type(0);
  int64_t axis = in.attr(0).number, size = in.result[axis];
  int64_t start = in.attr(1).number, stop = in.attr(2).number;
  if (start < 0) start += size;
  if (stop < 0) stop += size;
  if (start < 0 || start >= stop || stop > size)
    return in.fail("{0}:{1} is not a range of axis {2} of {3}", in.attr(1).number,
                   in.attr(2).number, axis, in.type(0));
  in.set(1, Value::of_int(start));
  in.set(2, Value::of_int(stop));
  in.result.shape[axis] = stop - start;
  return true;
}

bool windows(Inference& in) {
  in.result = in.type(0);
  int64_t axis = in.attr(0).number, elements = in.result[static_cast<size_t>(axis)];
  for (size_t slot : {1, 2, 3})
    if (!in_range(in, in.info.attrs()[slot], {in.attr(slot).number}, 1)) return false;
  int64_t size = in.attr(1).number, step = in.attr(2).number, dilation = in.attr(3).number;
  if (size - 1 > (elements - 1) / dilation)
    return in.fail("axis {0} of {1} has no window of {2} elements, {3} apart", axis, in.type(0),
                   size, dilation);
  in.result.shape[axis] = (elements - dilation * (size - 1) - 1) / step + 1;
  in.result.shape.insert(in.result.shape.begin() + axis + 1, size);
  return true;
}

bool split(Inference& in) { return in.fail("split does not have a single result"); }

bool reshape(Inference& in) {
  const TensorType& x = in.type(0);
  Value shape = in.attr(0);
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < shape.ints.size(); ++i) {
    int64_t dim = shape.ints[i];
    if (dim == -1 && unknown < 0) {
      unknown = static_cast<int64_t>(i);
    } else if (dim < 1 || dim > kMaxElements / known) {
      return in.fail("{0} is not a shape", shape);
    } else {
      known *= dim;
    }
  }
  if (unknown >= 0) shape.ints[unknown] = x.elements() / known;
  in.result = {x.dtype, Shape(shape.ints.begin(), shape.ints.end())};
  if (unknown >= 0 ? known * shape.ints[unknown] != x.elements() || shape.ints[unknown] < 1
                   : known != x.elements())
    return in.fail("{0} has {1} elements, which do not fill {2}", x, x.elements(), in.attr(0));
  in.set(0, shape);
  return true;
}

bool transpose(Inference& in) {
  const TensorType& x = in.type(0);
  const Value& perm = in.attr(0);
  llvm::SmallBitVector seen(static_cast<unsigned>(x.rank()));
  for (int64_t axis : perm.ints) seen.set(static_cast<unsigned>(axis));
  if (static_cast<int64_t>(perm.ints.size()) != x.rank() || !seen.all())
    return in.fail("{0} is not a permutation of the {1} axes of {2}", perm, x.rank(), x);
  in.result.dtype = x.dtype;
  for (int64_t axis : perm.ints) in.result.shape.push_back(x[axis]);
  return true;
}

bool pad(Inference& in) {
  in.result = in.type(0);
  const Value &before = in.attr(0), &after = in.attr(1);
  size_t rank = in.result.shape.size();
  if (before.ints.size() != rank || after.ints.size() != rank)
    return in.fail("`before` and `after` need one number for each of the {0} axes", rank);
  for (size_t i = 0; i < rank; ++i) {
    if (std::min(before.ints[i], after.ints[i]) < 0 ||
        std::max(before.ints[i], after.ints[i]) > kMaxElements)
      return in.fail("padding must not be negative, got {0} and {1}", before, after);
    in.result.shape[i] += before.ints[i] + after.ints[i];
  }
  if (literal_fits(in.attr(2), in.result.dtype)) return true;
  return in.fail("{0} is not a value of {1}", in.attr(2), dtype_name(in.result.dtype));
}

bool broadcast_to(Inference& in) {
  const TensorType& x = in.type(0);
  llvm::ArrayRef<int64_t> shape = in.attr(0).ints;
  in.result = {x.dtype, Shape(shape.begin(), shape.end())};
  Shape both;
  if (broadcast_shapes(x.shape, shape, both) && both == in.result.shape) return true;
  return in.fail("{0} does not broadcast to {1}", x, shape);
}

bool gather(Inference& in) {
  const TensorType &x = in.type(0), &indices = in.type(1);
  if (!is_integer(indices.dtype)) return in.fail("indices must be i32 or i64, got {0}", indices);
  size_t axis = static_cast<size_t>(in.attr(0).number);
  llvm::ArrayRef<int64_t> shape = x.shape;
  in.result = {x.dtype, Shape(shape.begin(), shape.begin() + axis)};
  in.result.shape.append(indices.shape.begin(), indices.shape.end());
  in.result.shape.append(shape.begin() + axis + 1, shape.end());
  return true;
}

bool scatter(Inference& in) {
  const TensorType &x = in.type(0), &indices = in.type(1), &updates = in.type(2);
  if (!is_integer(indices.dtype)) return in.fail("indices must be i32 or i64, got {0}", indices);
  if (indices.rank() != 1) return in.fail("indices must be a vector, got {0}", indices);
  TensorType wanted = x;
  wanted.shape[static_cast<size_t>(in.attr(0).number)] = indices[0];
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
