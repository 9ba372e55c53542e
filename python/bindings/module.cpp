// tangram._core: the public C++ API as it is. What makes it pleasant in Python (defaults, pictures,
// progress) is in the package's own files, which are its only users.
#include "python/bindings/parts.h"
#include "tangram/tangram.h"

NB_MODULE(_core, m) {
  namespace python = tangram::python;
  m.doc() = "Bindings of the C++ library; `import tangram` is the package.";
  m.attr("__version__") = tangram::version();
  // Objects that live at exit are the interpreter's way to end quickly.
  nanobind::set_leak_warnings(false);
  python::bind_errors(m);
  python::bind_models(m);
  python::bind_programs(m);
  python::bind_optimizations(m);
  python::bind_rules(m);
  python::bind_extraction(m);
  python::bind_environments(m);
}
