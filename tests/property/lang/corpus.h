// The .tg files of the repository, as input for property tests of the language.
#pragma once

#include "lang/syntax/parse.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tg {

struct CorpusFile {
  std::string name;
  std::string text;
};

/// A text with each construct of the language, so that the tests do not depend on the number
/// of files.
inline const char* every_construct() {
  return R"(## All of the language.
use std.nn: conv, max_pool
use ./blocks
use ../lib/more: a

## A function.
fn f(x: f32[N, 2 * C, H // 2], n: int = 3, p: list[int], act: Act = relu) -> (a: f32[N], b: (i64, bool))
  where N % 2 == 0, n > 1 and not (C == 3)
{
  let s     = relu(conv(x, 16, kernel = [1, 3], pad = same))  # behind
  let right = -s ** 2 + (s @ x) * 0.5 - 1e-5 / n
  var (q, k) = split(s, axis = -1, parts = 2)

  # A paragraph.
  (q, k) = (k, q)
  param w: f32[N, N] = weight("a.b", init = normal(0.02))
  param v: f32[N] (init = zeros)
  for i in 0..12 { q = fire(q, i) as step }
  for (a, b) in [(1, 2), (3, 4)] {
    let t = x[:, 0:64, ::2, -1]
    q = if a < b { t } else if a >= b or false { g(t) } else { [1, 2, 3] }
  }
  (q, k,)
}

ruleset algebra

## Joins.
rule join(x, a, g: pointwise, ys...) reassociates {
  let c = concat([x, a], axis = -1)
  x @ c, g(ys...) => split(x, sizes = [dim(a, -1)]), conv2d(x, act = relu, ..)
  where rank(x) == 2, weight(c)
}
rule both(x) { -(-x) <=> x }
model m(x: f32[1, 8], N: int = 1) { relu(x) }
model open(x: f32[B, S], S: int in 1..2 * 1024 = 128, B: int in 1.. = 1) { relu(x) }
)";
}

/// Returns every .tg file below examples, stdlib, rules and tests/golden that parses,
/// and the text above.
inline std::vector<CorpusFile> corpus() {
  std::vector<CorpusFile> files = {{"every_construct", every_construct()}};
  for (const char* folder : {"examples", "stdlib", "rules", "tests/golden"}) {
    std::error_code failed;
    std::string root = std::string(TG_SOURCE_DIR) + "/" + folder;
    for (llvm::sys::fs::recursive_directory_iterator at(root, failed), end; at != end && !failed;
         at.increment(failed)) {
      if (llvm::sys::path::extension(at->path()) != ".tg") continue;
      SourceManager sources;
      DiagnosticSink sink;
      auto file = load_file(sources, at->path());
      if (!file) continue;
      parse(sources, *file, sink);
      if (!sink.failed()) files.push_back({at->path(), sources.file(*file).text().str()});
    }
  }
  std::sort(files.begin() + 1, files.end(),
            [](const CorpusFile& a, const CorpusFile& b) { return a.name < b.name; });
  return files;
}

} // namespace tg
