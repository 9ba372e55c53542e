// `tg calibrate`: times operators of all kinds on this machine, so that later searches can estimate
// the prices of their operators.
#include "compiler/api/calibration/calibration.h"
#include "compiler/cli/pipeline.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::cli {

namespace {

void print(llvm::raw_ostream& out, const Calibration& found) {
  if (found.timed == 0 && found.finished)
    out << "this machine is calibrated: there is nothing left to time\n";
  else
    out << llvm::formatv("timed {0} in {1:f1} s{2}\n", counted(found.timed, "operator"),
                         found.seconds, found.finished ? "" : "; the next run continues from here");
  out << llvm::formatv("the price model has {0}", counted(found.samples, "sample"));
  if (found.median_error)
    out << llvm::formatv("; its median error on unseen operators is {0:f0}%",
                         100 * *found.median_error);
  out << "\n";
  if (found.unsettled > 0)
    out << llvm::formatv("{0} measured while other programs ran: not kept, and the "
                         "next run measures them again\n",
                         counted(found.unsettled, "price"));
}

} // namespace

int run_calibrate(Session& session) {
  const Options& o = session.options;
  session.interruptible = std::make_unique<Interruptible>(); // measured times are kept
  Result<Calibration> found = calibrate({.backend = o.backend,
                                         .memory_limit_mb = o.memory_limit_mb,
                                         .threads = static_cast<int>(o.threads),
                                         .cost_db = o.cost_db,
                                         .progress = progress_line(session, "timing operators")},
                                        session.stop);
  if (!found) return session.fail(found.error());
  if (o.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] {
      json.attribute("samples", static_cast<int64_t>(found->samples));
      json.attribute("timed", static_cast<int64_t>(found->timed));
      json.attribute("unsettled", static_cast<int64_t>(found->unsettled));
      json.attribute("seconds", found->seconds);
      if (found->median_error)
        write_number(json, "median_error", *found->median_error);
      else
        json.attribute("median_error", nullptr);
      json.attribute("finished", found->finished);
      json.attributeArray("notes", [&] {
        for (const std::string& note : found->notes) json.value(note);
      });
    });
    session.out << "\n";
    return 0;
  }
  if (o.quiet) return 0;
  print(session.out, *found);
  for (const std::string& note : found->notes) session.out << "note: " << note << "\n";
  return 0;
}

} // namespace tg::cli
