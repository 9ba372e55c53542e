// tangram._core: the public C++ API, unchanged. The package's own files are its only users
// and add the Python conveniences (defaults, pictures, progress).
#include "python/bindings/parts.h"
#include "tangram/tangram.h"

NB_MODULE(_core, m) {
  namespace python = tangram::python;
  m.doc() = "Bindings of the C++ library; `import tangram` is the package.";
  m.attr("__version__") = tangram::version();
  // Objects that are alive at exit are not leaks: the interpreter exits quickly.
  nanobind::set_leak_warnings(false);
  python::bind_errors(m);
  python::bind_models(m);
  python::bind_programs(m);
  python::bind_optimizations(m);
  python::bind_rules(m);
  python::bind_extraction(m);
  python::bind_environments(m);
}
