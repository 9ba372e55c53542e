// Profiles a run: every distinct unit is timed in the same way as by the search,
// and the whole run is timed too, so that the sum of prices can be compared with it.
// Nothing is inserted between the units of a run, because that would add gaps
// that runs do not have.
#include "runtime/cuda/executable.h"
#include "runtime/cuda/tuning/step_timer.h"

namespace tg::cuda {

namespace {

StepInfo port_info(const char* name, const Ports& ports, double microseconds) {
  StepInfo info;
  info.name = name;
  info.implementation = "pinned";
  for (const Ports::Port& port : ports.each()) info.bytes += static_cast<double>(port.bytes);
  info.measured_us = microseconds;
  return info;
}

} // namespace

void CudaExecutable::profile(bool on) {
  profile_ = {};
  profile_.on = on;
}

Result<void> CudaExecutable::measure_profile() {
  profile_.measured = true;
  GraphTiming how;
  how.cold = run_bytes_ > device_->l2_bytes();
  TG_TRY(profile_.launches, time_launches(*prepared_, device_, how));
  GraphTimer timer(*device_, stream_);
  TG_TRY(GraphTime whole, timer.time([this] { return enqueue_all(plain_io_); }, {}));
  profile_.whole_us = whole.microseconds;
  if (!plain_io_) return {};
  TG_TRY(GraphTime in, timer.time([this] { return inputs_.copy_in(*device_, stream_); }, {}));
  TG_TRY(GraphTime out, timer.time([this] { return outputs_.copy_out(*device_, stream_); }, {}));
  profile_.inputs = in.microseconds;
  profile_.outputs = out.microseconds;
  return {};
}

/// While profiling, copies of inputs and outputs are listed too,
/// because they are part of the whole run.
std::vector<StepInfo> CudaExecutable::steps() const {
  std::vector<StepInfo> infos;
  bool ports = profile_.measured && plain_io_;
  if (ports) infos.push_back(port_info("inputs", inputs_, profile_.inputs));
  llvm::ArrayRef<Launch> launches = prepared_->launches();
  for (size_t i = 0; i < launches.size(); ++i) {
    infos.push_back(prepared_->info(launches[i]));
    if (i < profile_.launches.size()) infos.back().measured_us = profile_.launches[i];
  }
  if (ports) infos.push_back(port_info("outputs", outputs_, profile_.outputs));
  return infos;
}

} // namespace tg::cuda
