// Converts a row of the options' table (tables/options.def) to a field of a struct. The columns
// `kind` and `limits` determine its type, and `default` its initial value.
#pragma once

#include "tangram/choices.h"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tangram {

namespace fields {

enum class Kind : uint8_t {
  Flag,
  Text,
  File,
  Folder,
  Word,   // one of a few words
  Words,  // several words
  Whole,  // integer
  Seed,   // unsigned 64-bit integer
  Number, // real
  Pairs,  // NAME=VALUE
  Cost,   // CostSpec
};

// Values of the column `limits`.
struct Any {};
struct Range {
  double low, high;
};
/// "a|b|c"
struct Listed {
  std::string_view words;
};
/// The words of an enumeration, or only these.
template <class E> struct Of { std::string_view only; };

// NOLINTBEGIN(readability-identifier-naming): as the rows name them
inline constexpr Any any;
template <class E> inline constexpr Of<E> of{""};
// NOLINTEND(readability-identifier-naming)
constexpr Range range(double low, double high) { return {low, high}; }
constexpr Listed words(const char* text) { return {text}; }
template <class E> constexpr Of<E> some(const char* text) { return {text}; }

template <Kind kind, class Limits> struct StoredIn { using type = std::string; };
template <class Limits> struct StoredIn<Kind::Flag, Limits> { using type = bool; };
template <class Limits> struct StoredIn<Kind::Whole, Limits> { using type = int64_t; };
template <class Limits> struct StoredIn<Kind::Seed, Limits> { using type = uint64_t; };
template <class Limits> struct StoredIn<Kind::Number, Limits> { using type = double; };
template <class Limits> struct StoredIn<Kind::Cost, Limits> { using type = CostSpec; };
template <class Limits> struct StoredIn<Kind::Pairs, Limits> {
  using type = std::vector<std::pair<std::string, std::string>>;
};
template <class Limits> struct StoredIn<Kind::Words, Limits> {
  using type = std::vector<std::string>;
};
template <class E> struct StoredIn<Kind::Word, Of<E>> { using type = E; };
template <class E> struct StoredIn<Kind::Words, Of<E>> { using type = std::vector<E>; };
/// The C++ type of a row's field.
template <Kind kind, class Limits>
using Stored = typename StoredIn<kind, std::remove_cv_t<Limits>>::type;

/// Converts the column `default` to a value of that type. Lists are empty by default.
template <class T, class Value> T initial(Value value) {
  if constexpr (std::is_enum_v<T>)
    return from_word<T>(value).value_or(T{});
  else if constexpr (std::is_same_v<T, CostSpec>)
    return CostSpec::from_text(value).value_or(CostSpec());
  else if constexpr (std::is_same_v<T, std::string>)
    return value;
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value);
  else
    return {};
}

} // namespace fields
} // namespace tangram
