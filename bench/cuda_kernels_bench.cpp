// Measures the compile time of the cuda backend's kernels, without a GPU. Every example network, as
// written and optimised, is loaded on a recording GPU with fake libraries that accept every call
// (tests/property/cuda). Columns: distinct kernels; those that are only timed against a library;
// processor seconds of NVRTC for all of them in sequence; seconds to load them from the cache;
// bytes of machine code.
//
//   cuda_kernels_bench [--architecture sm_90] [--json FILE]
//
// The timed region is CubinCache::get() of each kernel, first with an empty folder, then with the
// full one. A kernel that several networks share is compiled once and counted for each of them.
#include "tests/property/cuda/networks.h"
#include "tests/property/cuda/recorded_run.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <ctime>

namespace {

using namespace tg;

struct CompiledKernel {
  double cold_s = 0, warm_s = 0;
  size_t bytes = 0;
};

struct Row {
  std::string network;
  std::vector<std::string> kernels; // names
  size_t only_timed = 0;
};

/// Returns this process's CPU time in seconds, which excludes other load on the machine.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Returns the kernels that the network compiles when it is loaded, and adds their full program
/// texts to `texts` by name.
Result<Row> kernels_of(const test::Network& network, std::map<std::string, std::string>& texts) {
  test::FakeCudnn::reset();
  test::GpuRecord record;
  test::RecordingCompiler compiler;
  TG_TRY(std::unique_ptr<cuda::CudaExecutable> executable,
         test::make_recorded(network.plan, test::fake_libraries(), record, compiler));
  Row row{network.name, {}, 0};
  for (const cuda::KernelRow& kernel : executable->kernels()) row.only_timed += kernel.uses == 0;
  for (const auto& [name, function] : compiler.functions) {
    row.kernels.push_back(name);
    texts.try_emplace(name, cuda::prelude_text() + function);
  }
  return row;
}

Result<std::map<std::string, CompiledKernel>>
compile_all(const std::map<std::string, std::string>& texts, const std::string& architecture) {
  TG_TRY(std::unique_ptr<cuda::KernelCompiler> compiler, cuda::open_nvrtc());
  llvm::SmallString<128> folder;
  if (std::error_code failed = llvm::sys::fs::createUniqueDirectory("tangram-bench", folder))
    return error(Code::cannot_write, "no scratch folder: {0}", failed.message());
  std::map<std::string, CompiledKernel> compiled;
  // Keeps the compiler's one-time initialization out of the first kernel's time.
  TG_CHECK(compiler->compile("extern \"C\" __global__ void k() {}", architecture));
  for (double CompiledKernel::*seconds : {&CompiledKernel::cold_s, &CompiledKernel::warm_s}) {
    cuda::CubinCache cache(folder.str().str(), *compiler);
    for (const auto& [name, text] : texts) {
      double before = processor_seconds();
      TG_TRY(cuda::Cubin cubin, cache.get(text, architecture));
      compiled[name].*seconds = processor_seconds() - before;
      compiled[name].bytes = cubin.size();
    }
  }
  llvm::sys::fs::remove_directories(folder);
  return compiled;
}

CompiledKernel sum(const Row& row, const std::map<std::string, CompiledKernel>& compiled) {
  CompiledKernel all;
  for (const std::string& name : row.kernels) {
    const CompiledKernel& kernel = compiled.at(name);
    all.cold_s += kernel.cold_s;
    all.warm_s += kernel.warm_s;
    all.bytes += kernel.bytes;
  }
  return all;
}

void print(llvm::ArrayRef<Row> rows, const std::map<std::string, CompiledKernel>& compiled,
           const std::string& architecture, const std::string& compiler) {
  llvm::raw_ostream& out = llvm::outs();
  out << llvm::formatv("{0} kernels, {1}, {2}; processor seconds\n\n", compiled.size(), compiler,
                       architecture);
  out << llvm::formatv("{0,-38} {1,7} {2,6} {3,8} {4,8} {5,13}\n", "network", "kernels", "timed",
                       "cold s", "warm s", "bytes/kernel");
  for (const Row& row : rows) {
    CompiledKernel all = sum(row, compiled);
    out << llvm::formatv("{0,-38} {1,7} {2,6} {3,8:f2} {4,8:f4} {5,13}\n", row.network,
                         row.kernels.size(), row.only_timed, all.cold_s, all.warm_s,
                         row.kernels.empty() ? 0 : all.bytes / row.kernels.size());
  }
}

bool write_json(llvm::ArrayRef<Row> rows, const std::map<std::string, CompiledKernel>& compiled,
                const std::string& architecture, const std::string& compiler,
                const std::string& path) {
  std::error_code failed;
  llvm::raw_fd_ostream file(path, failed);
  if (failed) return false;
  llvm::json::OStream json(file, 1);
  json.object([&] {
    json.attribute("compiler", compiler);
    json.attribute("architecture", architecture);
    json.attribute("kernels", static_cast<int64_t>(compiled.size()));
    json.attributeArray("networks", [&] {
      for (const Row& row : rows)
        json.object([&] {
          CompiledKernel all = sum(row, compiled);
          json.attribute("network", row.network);
          json.attribute("kernels", static_cast<int64_t>(row.kernels.size()));
          json.attribute("only_timed", static_cast<int64_t>(row.only_timed));
          json.attribute("cold_s", all.cold_s);
          json.attribute("warm_s", all.warm_s);
          json.attribute("bytes", static_cast<int64_t>(all.bytes));
        });
    });
  });
  return true;
}

Result<void> run(const std::string& architecture, const std::string& json) {
  size_t changed = 0;
  std::vector<Row> rows;
  std::map<std::string, std::string> texts;
  for (const test::Network& network : test::example_networks(changed)) {
    if (network.dtype != DType::F32) continue;
    TG_TRY(Row row, kernels_of(network, texts));
    rows.push_back(std::move(row));
  }
  TG_TRY(std::unique_ptr<cuda::KernelCompiler> compiler, cuda::open_nvrtc());
  auto compiled = compile_all(texts, architecture);
  if (!compiled) return std::move(compiled.error());
  print(rows, *compiled, architecture, compiler->version());
  if (!json.empty() && !write_json(rows, *compiled, architecture, compiler->version(), json))
    return error(Code::cannot_write, "cannot write {0}", json);
  return {};
}

} // namespace

int main(int argc, char** argv) {
  std::string architecture = "sm_90", json;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (llvm::StringRef(argv[i]) == "--architecture") architecture = argv[i + 1];
    if (llvm::StringRef(argv[i]) == "--json") json = argv[i + 1];
  }
  Result<void> done = run(architecture, json);
  if (!done) llvm::errs() << done.error().message << "\n";
  return done ? 0 : 1;
}
