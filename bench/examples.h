// The default models of the benchmarks (every example), and their names.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tg {

inline std::vector<std::string> example_models() {
  std::vector<std::string> models;
  for (const char* folder : {"examples", "examples/paper"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(TG_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".tg") models.push_back(entry.path().string());
  std::sort(models.begin(), models.end());
  return models;
}

/// Returns the model's name: "resnet50", "paper/resnet50".
inline std::string model_name(const std::string& path) {
  std::filesystem::path file(path);
  bool paper = file.parent_path().filename() == "paper";
  return (paper ? "paper/" : "") + file.stem().string();
}

} // namespace tg
