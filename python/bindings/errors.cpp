#include "python/bindings/errors.h"

#include "python/bindings/parts.h"

#include <nanobind/stl/string.h>

namespace tangram::python {

namespace nb = nanobind;

namespace {

/// Raises the package's tangram.Error, from [(code, file, line, column, message, text)].
void raise(const Error& error) {
  nb::list rows;
  for (const Diagnostic& d : error.diagnostics)
    rows.append(nb::make_tuple(d.code, d.file, d.line, d.column, d.message, d.text));
  nb::object type = nb::module_::import_("tangram._errors").attr("Error");
  nb::object exception = type.attr("_from_rows")(rows);
  PyErr_SetObject(type.ptr(), exception.ptr());
}

} // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      raise(failure.error);
    }
  });
}

} // namespace tangram::python
