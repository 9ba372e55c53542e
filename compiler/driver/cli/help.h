// `tg help [CODE]`: what diagnostics mean.
#pragma once

namespace tg::cli {

struct Session;
int run_help(Session& session);

} // namespace tg::cli
