// Converts failures of the library to exceptions of the package: tangram.Error,
// with the diagnostics.
#pragma once

#include "tangram/tangram.h"

#include <optional>
#include <utility>

namespace tangram::python {

/// Thrown only by the bindings, on the way to Python.
struct Failure {
  Error error;
};

/// Returns the value, or throws its error.
template <class T> T value_of(Expected<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(*result);
}

inline void check(const std::optional<Error>& error) {
  if (error) throw Failure{*error};
}

} // namespace tangram::python
