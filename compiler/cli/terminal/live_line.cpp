// Searches report from any thread; one lock keeps the line consistent.
#include "compiler/cli/terminal/live_line.h"

#include "compiler/cli/terminal/table.h"

#include <algorithm>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tg::cli {
namespace {

using tangram::SearchProgress;

constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr size_t kMostRules = 3;

/// Returns the width of the terminal at standard error; 0 if unknown.
size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

} // namespace

std::string progress_text(const SearchProgress& p, double gone_s) {
  std::string text;
  llvm::raw_string_ostream out(text);
  // The most important figures come first: a narrow terminal cuts the line.
  if (p.source_us > 0)
    out << duration_text(p.source_us) << " to " << duration_text(p.best_us) << ", ";
  if (p.bound_us > 0) out << "at least " << duration_text(p.bound_us) << " here, ";
  out << static_cast<int64_t>(std::max(p.time_limit_s - p.seconds - gone_s, 0.0)) << " s left";
  if (p.nodes > 0) out << ", " << count_text(p.nodes) << " e-nodes";
  if (p.simulations > 0) out << ", " << count_text(p.simulations) << " tried";
  out << "; " << p.where;
  for (size_t i = 0; i < std::min(p.rules.size(), kMostRules); ++i)
    out << (i == 0 ? "; " : ", ") << p.rules[i].first << " x" << p.rules[i].second;
  return out.str();
}

LiveLine::LiveLine(Session& session, double time_limit_s, bool by_itself) {
  if (session.options.quiet || session.options.json || !session.color) return;
  err_ = &session.err;
  last_.time_limit_s = time_limit_s;
  last_.where = "searching";
  draw();
  if (by_itself) ticker_ = std::thread([this] { tick(); });
}

LiveLine::~LiveLine() {
  if (!err_) return;
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_one();
  if (ticker_.joinable()) ticker_.join();
  *err_ << "\r\x1b[K";
  err_->flush();
}

tangram::OnProgress LiveLine::listener() {
  if (!err_) return {};
  return [this](const SearchProgress& progress) { show(progress); };
}

void LiveLine::show(const SearchProgress& progress) {
  std::lock_guard lock(mutex_);
  bool news = progress.best_us < last_.best_us || progress.where != last_.where;
  last_ = progress;
  told_ = Clock::now();
  if (news || told_ - drawn_ >= kBetweenDraws) draw();
}

void LiveLine::draw() {
  drawn_ = Clock::now();
  std::string text = progress_text(last_, std::chrono::duration<double>(drawn_ - told_).count());
  // A line that reaches the last column may wrap, and could not be erased.
  if (size_t width = columns(); width > 1) text.resize(std::min(text.size(), width - 1));
  *err_ << "\r\x1b[K" + text;
  err_->flush();
}

void LiveLine::tick() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kBetweenDraws, [this] { return done_; }))
    if (Clock::now() - drawn_ >= kBetweenDraws) draw();
}

} // namespace tg::cli
