// The program `tg`, with the rows of this folder only.
#include "compiler/cli/options/program.h"

namespace tg::cli {

const ProgramTables& program_tables() {
  static const ProgramTables tg{"tg", tg_commands(), tg_options()};
  return tg;
}

} // namespace tg::cli

int main(int argc, char** argv) { return tg::cli::run_main(argc, argv); }
