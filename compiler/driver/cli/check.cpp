// `tg check`: everything that can be said about files without running them. Each file is checked by
// itself; with --model or --set, that model is also instantiated.
#include "compiler/driver/cli/session.h"
#include "compiler/driver/model.h"

namespace tg::cli {
namespace {

void check_file(Session& session, const std::string& path) {
  const Options& o = session.options;
  Program program = load_program(session.sources, library(), path, session.sink);
  if (session.sink.failed()) return;
  if (o.model.empty() && o.set.empty()) {
    check(program, session.sink);
    return;
  }
  build_graph(program, {o.model, o.set}, session.sink);
}

} // namespace

int run_check(Session& session) {
  const Options& o = session.options;
  for (const std::string& path : o.files) {
    DiagnosticSink all = std::move(session.sink);
    session.sink = {};
    check_file(session, path);
    for (const Diagnostic& d : session.sink.all()) all.report(d);
    if (!o.quiet && !o.json && !session.sink.failed()) session.out << path << ": ok\n";
    session.sink = std::move(all);
  }
  if (session.sink.failed()) return session.fail();
  session.print_warnings();
  if (o.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] {
      json.attribute("ok", true);
      write_errors(json, session.sink, session.sources);
    });
    session.out << "\n";
  }
  return 0;
}

} // namespace tg::cli
