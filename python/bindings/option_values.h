// Search options by their command-line names (`time_limit` is --time-limit):
// rows of tangram/tables/options.def, each read as its field's type.
#pragma once

#include "tangram/tangram.h"

#include <nanobind/nanobind.h>

namespace tangram::python {

/// Sets the options in `values`. Throws TypeError for an unknown name or a value of another type,
/// and ValueError for an unknown word.
void set_options(OptimizeOptions& options, const nanobind::dict& values);

/// Returns [(name, type, words, help)] of each row; types as spelled in Python.
nanobind::list option_rows();

} // namespace tangram::python
