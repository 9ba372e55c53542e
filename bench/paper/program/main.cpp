// The program `tg-paper`.
#include "compiler/cli/options/program.h"

int main(int argc, char** argv) { return tg::cli::run_main(argc, argv); }
