// The parts of the module: each file binds one of them.
#pragma once

#include <nanobind/nanobind.h>

namespace tangram::python {

void bind_errors(nanobind::module_& m);
void bind_models(nanobind::module_& m);
void bind_programs(nanobind::module_& m);
void bind_optimizations(nanobind::module_& m);
void bind_rules(nanobind::module_& m);
void bind_extraction(nanobind::module_& m);
void bind_environments(nanobind::module_& m);

} // namespace tangram::python
