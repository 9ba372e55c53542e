#include "python/bindings/option_values.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sstream>

namespace tangram::python {

namespace nb = nanobind;

namespace {

/// Converts "--time-limit" to `time_limit`.
std::string name_of(std::string_view flag) {
  std::string name(flag.substr(2));
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

[[noreturn]] void wrong_type(const std::string& name, const char* wanted) {
  throw nb::type_error((name + " must be " + wanted).c_str());
}

template <class T> struct Reader {
  static T read(const std::string& name, nb::handle value, const char* wanted) {
    T out;
    if (!nb::try_cast(value, out)) wrong_type(name, wanted);
    return out;
  }
};

template <class E> std::string words_of(std::string_view only) {
  if (!only.empty()) return std::string(only);
  std::string all;
  for (std::string_view row : Words<E>::kRows)
    if (!row.empty()) all += (all.empty() ? "" : "|") + std::string(row);
  return all;
}

template <class T> T read(const std::string& name, nb::handle value) {
  if constexpr (std::is_enum_v<T>) {
    auto text = Reader<std::string>::read(name, value, "a word");
    if (std::optional<T> found = from_word<T>(text)) return *found;
    throw nb::value_error((name + " must be one of " + words_of<T>("") + ", not " + text).c_str());
  } else if constexpr (std::is_same_v<T, CostSpec>) {
    auto text = Reader<std::string>::read(name, value, "a string");
    if (std::optional<CostSpec> found = CostSpec::from_text(text)) return *found;
    throw nb::value_error(
        (name + " must be calibrated, analytic, measured or file:TABLE, not " + text).c_str());
  } else if constexpr (std::is_same_v<T, bool>) {
    return Reader<T>::read(name, value, "a bool");
  } else if constexpr (std::is_same_v<T, std::string>) {
    return Reader<T>::read(name, nb::str(value), "a string"); // also a path
  } else if constexpr (std::is_arithmetic_v<T>) {
    return Reader<T>::read(name, value, std::is_integral_v<T> ? "a whole number" : "a number");
  } else {
    T list;
    nb::object values = nb::borrow(value);
    if (nb::isinstance<nb::str>(value)) values = nb::make_tuple(value);
    for (nb::handle item : values) list.push_back(read<typename T::value_type>(name, item));
    return list;
  }
}

template <class T, class Limits>
void refuse_negative(const std::string&, const T&, const Limits&) {}

/// Refuses negative numbers, which mean "not given" in the fields.
/// The library checks other numbers.
template <class T>
requires std::is_arithmetic_v<T>
void refuse_negative(const std::string& name, const T& value, const fields::Range& range) {
  if (range.low < 0 || value >= T{}) return;
  std::ostringstream text;
  text << name << " must be a number from " << range.low << " to " << range.high << ", not "
       << value;
  throw nb::value_error(text.str().c_str());
}

template <class T> std::string python_type() {
  if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_integral_v<T>)
    return "int";
  else if constexpr (std::is_floating_point_v<T>)
    return "float";
  else if constexpr (std::is_enum_v<T>)
    return "words";
  else if constexpr (std::is_same_v<T, CostSpec> || std::is_same_v<T, std::string>)
    return "str";
  else
    return "list";
}

template <class T, class Limits> std::string word_list(const Limits&) { return ""; }
template <class T, class E> std::string word_list(const fields::Of<E>& of) {
  return words_of<E>(of.only);
}

} // namespace

void set_options(OptimizeOptions& options, const nb::dict& values) {
  using namespace fields;
  for (auto [key, value] : values) {
    auto name = nb::cast<std::string>(key);
    bool known = false;
#define TG_OPTION(...)
#define TG_ALSO(...)
#define TG_SEARCH_OPTION(field, flag, value_name, kind, value_, limits, ...)                       \
  if (name == name_of(flag)) {                                                                     \
    options.field = read<decltype(options.field)>(name, value);                                    \
    refuse_negative(name, options.field, limits);                                                  \
    known = true;                                                                                  \
  }
#include "tangram/tables/options.def"
#undef TG_OPTION
#undef TG_ALSO
#undef TG_SEARCH_OPTION
    if (!known) throw nb::type_error(("unknown option `" + name + "`").c_str());
  }
}

nb::list option_rows() {
  using namespace fields;
  nb::list rows;
#define TG_OPTION(...)
#define TG_ALSO(...)
#define TG_SEARCH_OPTION(field, flag, value_name, kind, value, limits, group, basic, commands,     \
                         strategies, help, detail)                                                 \
  rows.append(nb::make_tuple(name_of(flag), python_type<decltype(OptimizeOptions::field)>(),       \
                             word_list<decltype(OptimizeOptions::field)>(limits),                  \
                             std::string(help) + (*(detail) ? ". " : "") + (detail)));
#include "tangram/tables/options.def"
  return rows;
}

} // namespace tangram::python
