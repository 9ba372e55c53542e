// Shapes from the public architectures.
#include "tests/unit/tune/workloads.h"

#include <llvm/ADT/STLExtras.h>

#include <cassert>

namespace tg::tune {
namespace {

struct Conv {
  int64_t from, to, size, kernel, stride, times;
};

Operator conv2d(const Conv& conv, int64_t batch = 1) {
  Operator op{
      OpType::C2D, {batch, conv.to, conv.size, conv.size}, {conv.from, conv.kernel, conv.kernel}};
  if (conv.stride != 1) op.stride = {conv.stride, conv.stride};
  if (conv.kernel > 1) op.padding = {conv.kernel / 2, conv.kernel / 2};
  return op;
}

Workload convolutions(const char* name, std::initializer_list<Conv> list, int64_t batch = 1) {
  Workload found{name, {}, {}};
  for (const Conv& conv : list) {
    found.operators.push_back(conv2d(conv, batch));
    found.occurrences.push_back(conv.times);
  }
  return found;
}

Operator conv3d(int64_t from, int64_t to, Extents kernel, Extents size, int64_t stride_d,
                int64_t stride_hw) {
  Operator op{OpType::C3D, {1, to, size[0], size[1], size[2]}, {from}};
  op.reduction.insert(op.reduction.end(), kernel.begin(), kernel.end());
  if (stride_d * stride_hw != 1) op.stride = {stride_d, stride_hw, stride_hw};
  return op;
}

void add(Workload& list, Operator op, int64_t times) {
  auto place = llvm::find(list.operators, op);
  if (place == list.operators.end()) {
    list.operators.push_back(std::move(op));
    list.occurrences.push_back(times);
  } else {
    list.occurrences[static_cast<size_t>(place - list.operators.begin())] += times;
  }
}

} // namespace

Workload resnet50(int64_t batch) {
  return convolutions("ResNet50",
                      {{3, 64, 112, 7, 2, 1},    {64, 64, 56, 1, 1, 1},    {64, 64, 56, 3, 1, 3},
                       {64, 256, 56, 1, 1, 4},   {256, 64, 56, 1, 1, 2},   {256, 128, 28, 1, 2, 1},
                       {128, 128, 28, 3, 1, 4},  {128, 512, 28, 1, 1, 4},  {256, 512, 28, 1, 2, 1},
                       {512, 128, 28, 1, 1, 3},  {512, 256, 14, 1, 2, 1},  {256, 256, 14, 3, 1, 6},
                       {256, 1024, 14, 1, 1, 6}, {512, 1024, 14, 1, 2, 1}, {1024, 256, 14, 1, 1, 5},
                       {1024, 512, 7, 1, 2, 1},  {512, 512, 7, 3, 1, 3},   {512, 2048, 7, 1, 1, 3},
                       {1024, 2048, 7, 1, 2, 1}, {2048, 512, 7, 1, 1, 2}},
                      batch);
}

Workload mobilenet_convolutions() {
  return convolutions("MobileNetV2",
                      {{3, 32, 112, 3, 2, 1},  {32, 16, 112, 1, 1, 1}, {16, 96, 112, 1, 1, 1},
                       {96, 24, 56, 1, 1, 1},  {24, 144, 56, 1, 1, 2}, {144, 24, 56, 1, 1, 1},
                       {144, 32, 28, 1, 1, 1}, {32, 192, 28, 1, 1, 3}, {192, 32, 28, 1, 1, 2},
                       {192, 64, 14, 1, 1, 1}, {64, 384, 14, 1, 1, 4}, {384, 64, 14, 1, 1, 3},
                       {384, 96, 14, 1, 1, 1}, {96, 576, 14, 1, 1, 3}, {576, 96, 14, 1, 1, 2},
                       {576, 160, 7, 1, 1, 1}, {160, 960, 7, 1, 1, 3}, {960, 160, 7, 1, 1, 2},
                       {960, 320, 7, 1, 1, 1}, {320, 1280, 7, 1, 1, 1}});
}

Workload mobilenet_depthwise() {
  Workload found{"MobileNetV2 depthwise", {}, {}};
  for (auto [channels, size, stride, times] : std::vector<std::array<int64_t, 4>>{{32, 112, 1, 1},
                                                                                  {96, 56, 2, 1},
                                                                                  {144, 56, 1, 1},
                                                                                  {144, 28, 2, 1},
                                                                                  {192, 28, 1, 2},
                                                                                  {192, 14, 2, 1},
                                                                                  {384, 14, 1, 4},
                                                                                  {576, 14, 1, 2},
                                                                                  {576, 7, 2, 1},
                                                                                  {960, 7, 1, 3}}) {
    Operator op{OpType::DEP, {1, channels, size, size}, {3, 3}};
    if (stride != 1) op.stride = {stride, stride};
    add(found, op, times);
  }
  return found;
}

Workload resnest50_grouped() {
  Workload found{"ResNeSt50 grouped", {}, {}};
  for (auto [from, to, size] : std::vector<std::array<int64_t, 3>>{{64, 128, 56},
                                                                   {128, 256, 56},
                                                                   {128, 256, 28},
                                                                   {256, 512, 28},
                                                                   {256, 512, 14},
                                                                   {512, 1024, 14},
                                                                   {512, 1024, 7}}) {
    Operator op{OpType::GRP, {1, to, size, size}, {from / 2, 3, 3}};
    op.groups = {2};
    add(found, op, 1);
  }
  return found;
}

Workload resnest50_narrow() {
  return convolutions("ResNeSt50 narrow", {{64, 32, 1, 1, 1, 1},
                                           {128, 64, 1, 1, 1, 1},
                                           {256, 128, 1, 1, 1, 1},
                                           {512, 256, 1, 1, 1, 1}});
}

Workload bert_base() {
  Workload found{"BERT-Base", {}, {}};
  for (auto [space, k, times] :
       std::vector<std::tuple<Extents, int64_t, int64_t>>{{{1, 128, 768}, 768, 48},
                                                          {{12, 128, 128}, 64, 12},
                                                          {{12, 128, 64}, 128, 12},
                                                          {{1, 128, 3072}, 768, 12},
                                                          {{1, 128, 768}, 3072, 12}})
    add(found, {OpType::BMM, space, {k}}, times);
  return found;
}

Workload bert_large_set() {
  Workload found{"BERT(L)", {}, {}};
  for (auto [width, heads, layers] : {std::array<int64_t, 3>{768, 12, 12}, {1024, 16, 24}})
    for (int64_t batch : {1, 16})
      for (int64_t seq : {64, 128}) {
        Operator projections{OpType::BMM, {batch, seq, width}, {width}};
        add(found, projections, 4 * layers);
        add(found, {OpType::BMM, {batch * heads, seq, seq}, {64}}, layers);
        add(found, {OpType::BMM, {batch * heads, seq, 64}, {seq}}, layers);
        add(found, {OpType::BMM, {batch, seq, 4 * width}, {width}}, layers);
        add(found, {OpType::BMM, {batch, seq, width}, {4 * width}}, layers);
      }
  return found;
}

Workload r2plus1d_18() {
  Workload found{"R(2+1)D-18", {}, {}};
  add(found, conv3d(3, 45, {1, 7, 7}, {16, 56, 56}, 1, 2), 1);
  add(found, conv3d(45, 64, {3, 1, 1}, {16, 56, 56}, 1, 1), 1);
  int64_t from = 64;
  for (int64_t to : {64, 128, 256, 512}) {
    int64_t shrink = to / 64, d = 16 / shrink, s = 56 / shrink, stride = to == 64 ? 1 : 2;
    for (int block = 0; block < 2; ++block, from = to) {
      // Both pairs of a block use its middle width.
      int64_t step = block == 0 ? stride : 1, middle = 27 * from * to / (9 * from + 3 * to);
      add(found, conv3d(from, middle, {1, 3, 3}, {d * step, s, s}, 1, step), 1);
      add(found, conv3d(middle, to, {3, 1, 1}, {d, s, s}, step, 1), 1);
      add(found, conv3d(to, middle, {1, 3, 3}, {d, s, s}, 1, 1), 1);
      add(found, conv3d(middle, to, {3, 1, 1}, {d, s, s}, 1, 1), 1);
      if (block == 0 && stride == 2) add(found, conv3d(from, to, {1, 1, 1}, {d, s, s}, 2, 2), 1);
    }
  }
  return found;
}

Workload dcgan() {
  Workload found{"DCGAN", {}, {}};
  for (auto [from, to, size, stride] : std::vector<std::array<int64_t, 4>>{{100, 512, 4, 1},
                                                                           {512, 256, 8, 2},
                                                                           {256, 128, 16, 2},
                                                                           {128, 64, 32, 2},
                                                                           {64, 3, 64, 2}}) {
    Operator op{OpType::T2D, {1, to, size, size}, {from, 4, 4}};
    op.stride = {stride, stride};
    add(found, op, 1);
  }
  return found;
}

Workload capsules() {
  Workload found{"capsules", {}, {}};
  for (auto [size, from, to, stride] : std::vector<std::array<int64_t, 4>>{
           {16, 32, 32, 2}, {8, 32, 32, 1}, {16, 8, 16, 2}, {8, 8, 16, 1}}) {
    Operator op{OpType::CAP, {1, size / stride, size / stride, 4, 4, to}, {3, 3, 4, from}};
    if (stride != 1) op.stride = {stride};
    add(found, op, 1);
  }
  return found;
}

Workload norms() {
  Workload found{"norms", {}, {}};
  for (int64_t size : {256, 512, 1024, 4096}) add(found, {OpType::FRB, {1}, {size, size}}, 1);
  return found;
}

std::vector<Workload> all_workloads() {
  return {resnet50(),
          resnet50(16),
          mobilenet_convolutions(),
          mobilenet_depthwise(),
          resnest50_grouped(),
          bert_base(),
          resnest50_narrow(),
          r2plus1d_18(),
          bert_large_set(),
          dcgan(),
          capsules(),
          norms()};
}

} // namespace tg::tune
