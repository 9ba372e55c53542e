// Writes diagnostics as text, JSON and an exit code, and texts to files.
#include "compiler/cli/session.h"

#include "compiler/api/backends/prepare.h"
#include "lang/core/support/data_file.h"

#include <llvm/Support/Process.h>

#include <csignal>
#include <cstdlib>

namespace tg::cli {

int exit_code(Code code) {
  switch (code) {
  case Code::usage: return 2;
  case Code::no_solution:
  case Code::limit_no_answer:
  case Code::memory_limit: return 3;
  case Code::internal: return 70;
  default: return 1;
  }
}

StopToken stop_of(const Options& o) {
  StopToken stop =
      interrupts().holding(static_cast<uint64_t>(memory_limit_bytes(o.memory_limit_mb)));
  return o.time_limit_s >= 0 ? stop.within(o.time_limit_s) : stop;
}

int run_program(const Options& options, llvm::function_ref<int(Session&)> run) {
  // A file beyond the shell's size limit becomes a write error, which removes the partial file.
  std::signal(SIGXFSZ, SIG_IGN);
  install_signal_handlers();
  Session session(options, llvm::outs(), llvm::errs());
  session.color = llvm::sys::Process::StandardErrIsDisplayed() &&
                  llvm::sys::Process::StandardOutIsDisplayed() && !std::getenv("NO_COLOR");
  return run(session);
}

void write_errors(llvm::json::OStream& json, const DiagnosticSink& sink,
                  const SourceManager& sources) {
  json.attributeArray("errors", [&] {
    for (const Diagnostic& d : sink.all()) {
      if (d.severity != Severity::Error) continue;
      json.object([&] {
        json.attribute("code", code_text(d.code));
        if (d.span.valid()) {
          const SourceFile& file = sources.file(d.span.file);
          LineColumn at = file.position(d.span.begin);
          json.attribute("file", file.name());
          json.attribute("line", at.line);
          json.attribute("column", at.column);
        } else {
          for (const char* place : {"file", "line", "column"}) json.attribute(place, nullptr);
        }
        json.attribute("message", d.message);
        json.attributeArray("notes", [&] {
          for (const std::string& note : d.notes) json.value(note);
        });
        json.attribute("help", d.help);
      });
    }
  });
}

void Session::print_warnings() {
  for (const Diagnostic& d : sink.all()) render(d, sources, err, color);
}

int Session::fail(llvm::function_ref<void(llvm::json::OStream&)> more) {
  sink.sort();
  print_warnings();
  int code = 1;
  for (const Diagnostic& d : sink.all())
    if (d.severity == Severity::Error) code = std::max(code, exit_code(d.code));
  if (code == 70)
    err << "This is a fault in Tangram. Please report it with the command, the input and `tg "
           "--version`.\n";
  if (options.json) {
    llvm::json::OStream json(out, 2);
    json.object([&] {
      json.attribute("ok", false);
      write_errors(json, sink, sources);
      more(json);
    });
    out << "\n";
  }
  return code;
}

int Session::fail(Diagnostic d) {
  sink.report(std::move(d));
  return fail();
}

Result<void> write_text_file(Session& session, llvm::StringRef path, llvm::StringRef text) {
  if (path == "-") {
    session.out << text;
    return {};
  }
  return write_data_file(path, [&](llvm::raw_ostream& out) -> Result<void> {
    out << text;
    return {};
  });
}

Result<void> check_outputs(const Options& o) {
  std::vector<std::string> paths = {o.out_file, o.weights_out, o.trace, o.save_priors,
                                    o.save_costs};
  if (o.command == CommandId::BenchDemo) paths.push_back(o.output); // otherwise a folder
  for (const std::string& path : paths)
    if (!path.empty() && path != "-") TG_CHECK(check_writable(path));
  return {};
}

} // namespace tg::cli
