// A program of an operator: a sketch and the values that the sketch leaves open.
// The multi-level tile sketch (SSSRRSRS) splits every space loop into five factors
// and every reduction loop into three, whose product is the loop:
//
//   s0 blocks | s1 virtual threads | s2 threads | r0 fetches | r1 | s3 | r2 | s4
//
// Source: ETO (README), Figure 2; Zheng et al., "Ansor", OSDI 2020, section 4.
//
// Invariant: the text of a program is complete: everything that is counted follows
// from it without the code that created the program.
#pragma once

#include "runtime/tune/operator.h"

#include <array>

namespace tg::tune {

/// Tiles: the multi-level tile sketch. CrossThread: threads share a reduction. Flat:
/// loops split only into blocks and threads. TilesAndFlat: WIN,
/// with tiles for its matrix product and flat stages around it.
enum class Sketch : uint8_t { Tiles, CrossThread, Flat, TilesAndFlat };
llvm::StringRef sketch_name(Sketch sketch);

/// Returns the sketches that an operator may have, by its loops.
/// They determine which programs it can reuse.
std::vector<Sketch> sketches_of(const Operator& op);

inline constexpr std::array<int64_t, 5> kUnrollSteps = {0, 16, 64, 512, 1024};
inline constexpr std::array<int64_t, 3> kVectors = {1, 2, 4};

/// The values that the multi-level tile sketch leaves open.
struct Tile {
  std::vector<std::array<int64_t, 5>> space;     // s0 to s4 of each loop
  std::vector<std::array<int64_t, 3>> reduction; // r0, r1, r2 of each loop
  int64_t unroll = 0;                            // one of kUnrollSteps
  Extents vectors;                               // from kVectors, one per input

  bool operator==(const Tile&) const = default;

  int64_t blocks() const;
  int64_t threads() const; // of a block
  Extents block() const;   // points of a block along each space loop
  Extents grid() const;    // threads along each space loop
  Extents virtuals() const;
  Extents fetched() const; // points of each reduction loop in one fetch
  int64_t rounds(const Nest& nest) const {
    return nest.load_axis ? reduction[*nest.load_axis][0] : 1;
  }
};

struct Program {
  Operator op;
  Sketch sketch = Sketch::Tiles;
  Tile tile;       // for Tiles and TilesAndFlat; else empty
  Extents threads; // of a block: CrossThread one, Flat and TilesAndFlat one per flat stage

  bool operator==(const Program&) const = default;
};

/// The device resources that a program uses: blocks, threads of all blocks,
/// and shared-memory elements of all blocks in one fetch.
struct Features {
  double blocks = 0, threads = 0, shared = 0;
};
Features features(const Program& program, const Nest& nest);

/// Checks that factors, unrolling and vectors are those of a program of the operator. Errors:
/// `bad_data_file`.
Result<void> check(const Program& program);

/// "C2D [1, 8, 4, 4 | 3, 1, 1]; tiles 1.1.1.1.1, 2.1.4.1.1, .. | 3.1.1, ..; unroll 16; vectors 1,
/// 4"
std::string text(const Program& program);
/// Errors: `bad_data_file`.
Result<Program> read_program(llvm::StringRef text);

/// Splits `length` into an outer factor and its least prime divisor, which is the inner factor;
/// 1 stays 1.
std::array<int64_t, 2> split_by_least_prime(int64_t length);

} // namespace tg::tune
