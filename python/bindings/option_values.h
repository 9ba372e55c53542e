// Options of a search by their names on the command line (`time_limit` is --time-limit): rows of
// tangram/tables/options.def, each read as its field's type.
#pragma once

#include "tangram/tangram.h"

#include <nanobind/nanobind.h>

namespace tangram::python {

/// Sets those that `values` names. Throws TypeError for a name that there is not, or a value of
/// another type, and ValueError for a word that is none.
void set_options(OptimizeOptions& options, const nanobind::dict& values);

/// [(name, type, words, help)] of each row; types as Python spells them.
nanobind::list option_rows();

} // namespace tangram::python
