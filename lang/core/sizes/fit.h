// Expressions from examples: a model that is instantiated at several sizes has the same operators
// at each of them, with other integers. These functions choose the sizes, and recover each integer
// as an expression of the sizes.
#pragma once

#include "lang/core/sizes/region.h"

namespace tg::sizes {

/// The largest divisor that fit() looks for.
inline constexpr int64_t kMostFitted = 32;

/// Returns distinct points of the ranges for fit(): lines along each size, and points at which all
/// sizes vary and take, each, all remainders of divisions by up to kMostFitted. Sizes are at least
/// their defaults and above 16 where the ranges allow, and differ from each other at each point.
/// The first point is the sample of the model.
std::vector<Point> fit_points(llvm::ArrayRef<Interval> ranges, llvm::ArrayRef<int64_t> defaults);

/// The number of these points, from the first on, that suffice for polynomials. Divisions require
/// all points.
size_t points_for_polynomials(size_t sizes);

/// Returns an expression that has these values at these points, which fit_points() chose; nullopt
/// if none is found. In the order in which they are tried: constants; polynomials of degree 3; and
/// polynomials in floor divisions (a * n + c) // d with one division of each size, or one of a sum
/// of sizes, or with divisions that the algebra already has. Each form has fewer coefficients than
/// there are points, so that the other points check it.
std::optional<Expr> fit(Algebra& algebra, llvm::ArrayRef<Point> points,
                        llvm::ArrayRef<int64_t> values);

} // namespace tg::sizes
