// How long idle threads of the cpu backend look for work before they sleep.
#pragma once

namespace tg::cli {

/// Idle threads of libgomp, which oneDNN runs on, spin for some 3 ms before they sleep. On a quiet
/// machine a hundredth of that is as good; where another program wants one of the cores, each
/// parallel region waits for the spinning to end (figures: README of runtime/onednn). The library
/// reads its environment before main(), so the program starts itself once more; what the user has
/// set stays.
void bound_spinning(char** argv);

} // namespace tg::cli
