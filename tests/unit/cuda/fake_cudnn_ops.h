// The computations of the fake cuDNN: descriptors that keep the attributes that are set,
// and operations interpreted over host memory and f32, through the tensors' strides,
// as the documentation defines them.
#pragma once

#include "runtime/cuda/cudnn/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace tg::test {

struct FakeDnnOps {
  using Kind = cuda::DnnKind;
  using Attr = cuda::DnnAttr;
  using Type = cuda::DnnType;

  struct Descriptor {
    Kind kind{};
    bool finished = false;
    std::map<Attr, std::vector<char>> attrs;
    size_t graph = SIZE_MAX; // for configurations and plans: index in graphs
    int64_t engine = -1;     // likewise

    template <class T> std::vector<T> all(Attr attr) const {
      auto it = attrs.find(attr);
      if (it == attrs.end()) return {};
      std::vector<T> values(it->second.size() / sizeof(T));
      std::memcpy(values.data(), it->second.data(), values.size() * sizeof(T));
      return values;
    }
    template <class T> T one(Attr attr, T otherwise = {}) const {
      auto values = all<T>(attr);
      return values.empty() ? otherwise : values[0];
    }
    const Descriptor* ref(Attr attr) const { return one<const Descriptor*>(attr); }
  };

  // --- operations of graphs
  // -----------------------------------------------------------------------

  using Tensors = std::map<int64_t, const Descriptor*>;
  static Tensors tensors(const Descriptor& graph) {
    Tensors found;
    for (const Descriptor* op : graph.all<const Descriptor*>(Attr::GraphOps))
      for (const auto& [attr, bytes] : op->attrs)
        if (cuda::dnn_type(attr) == Type::Descriptor)
          if (const Descriptor* t = op->ref(attr); t->kind == Kind::Tensor) {
            auto [it, fresh] = found.try_emplace(t->one<int64_t>(Attr::TensorId), t);
            EXPECT_TRUE(fresh || it->second == t) << "two tensors of one number";
          }
    return found;
  }

  using Index = std::array<int64_t, 4>; // all tensors have four axes

  /// A view of a tensor's elements by index. It broadcasts axes of extent 1.
  struct View {
    Index dims{}, strides{};
    float* data = nullptr;
    float& at(const Index& index) const {
      int64_t offset = 0;
      for (size_t i = 0; i < dims.size(); ++i) offset += (dims[i] == 1 ? 0 : index[i]) * strides[i];
      return data[offset];
    }
    template <class F> void each(F f) const {
      int64_t count = 1;
      for (int64_t dim : dims) count *= dim;
      Index index{};
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i;
        for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
          index[axis] = rest % dims[axis];
        f(index);
      }
    }
  };

  static Index index(const Descriptor& tensor, Attr attr) {
    auto values = tensor.all<int64_t>(attr);
    EXPECT_EQ(values.size(), 4u);
    return {values[0], values[1], values[2], values[3]};
  }

  struct Memory {
    std::map<int64_t, float*> given;
    std::map<int64_t, std::vector<float>> inner;
    View view(const Descriptor* t) {
      View v{index(*t, Attr::TensorDims), index(*t, Attr::TensorStrides), nullptr};
      int64_t id = t->one<int64_t>(Attr::TensorId), last = 1;
      for (size_t i = 0; i < v.dims.size(); ++i) last += (v.dims[i] - 1) * v.strides[i];
      if (t->one<char>(Attr::TensorVirtual)) {
        auto& memory = inner[id];
        memory.resize(static_cast<size_t>(last));
        v.data = memory.data();
      } else {
        v.data = given[id];
        EXPECT_NE(v.data, nullptr) << "no address for tensor " << id;
      }
      return v;
    }
  };

  static void convolution(const Descriptor& op, Memory& memory) {
    View x = memory.view(op.ref(Attr::OpConvolutionX)),
         w = memory.view(op.ref(Attr::OpConvolutionW)),
         y = memory.view(op.ref(Attr::OpConvolutionY));
    const Descriptor& how = *op.ref(Attr::OpConvolutionHow);
    auto stride = how.all<int64_t>(Attr::ConvolutionStrides),
         dilation = how.all<int64_t>(Attr::ConvolutionDilations),
         before = how.all<int64_t>(Attr::ConvolutionBefore);
    int64_t groups = x.dims[1] / w.dims[1], per_group = w.dims[0] / groups;
    y.each([&](const Index& at) {
      double sum = 0;
      for (int64_t c = 0; c < w.dims[1]; ++c)
        for (int64_t i = 0; i < w.dims[2]; ++i)
          for (int64_t j = 0; j < w.dims[3]; ++j) {
            int64_t row = at[2] * stride[0] + i * dilation[0] - before[0],
                    column = at[3] * stride[1] + j * dilation[1] - before[1];
            if (row < 0 || column < 0 || row >= x.dims[2] || column >= x.dims[3]) continue;
            sum +=
                static_cast<double>(x.at({at[0], at[1] / per_group * w.dims[1] + c, row, column})) *
                w.at({at[1], c, i, j});
          }
      y.at(at) = static_cast<float>(sum);
    });
  }

  static void pointwise(const Descriptor& op, Memory& memory) {
    View x = memory.view(op.ref(Attr::OpPointwiseX)), y = memory.view(op.ref(Attr::OpPointwiseY));
    const Descriptor& how = *op.ref(Attr::OpPointwiseHow);
    View b;
    if (op.attrs.count(Attr::OpPointwiseB)) b = memory.view(op.ref(Attr::OpPointwiseB));
    auto mode = static_cast<cuda::DnnPointwise>(how.one<int>(Attr::PointwiseMode));
    double upper =
        how.one<double>(Attr::PointwiseUpperClip, std::numeric_limits<double>::infinity());
    y.each([&](const Index& at) {
      double v = x.at(at);
      switch (mode) {
      case cuda::DnnPointwise::Add: v += b.at(at); break;
      case cuda::DnnPointwise::Relu: v = std::min(std::max(v, 0.0), upper); break;
      case cuda::DnnPointwise::Tanh: v = std::tanh(v); break;
      case cuda::DnnPointwise::Sigmoid: v = 1 / (1 + std::exp(-v)); break;
      case cuda::DnnPointwise::Gelu: v = v * (1 + std::erf(v / std::sqrt(2.0))) / 2; break;
      }
      y.at(at) = static_cast<float>(v);
    });
  }

  static void attention(const Descriptor& op, Memory& memory) {
    View q = memory.view(op.ref(Attr::OpAttentionQ)), k = memory.view(op.ref(Attr::OpAttentionK)),
         v = memory.view(op.ref(Attr::OpAttentionV)), o = memory.view(op.ref(Attr::OpAttentionO)),
         scale = memory.view(op.ref(Attr::OpAttentionScale));
    int64_t keys = k.dims[2], sharing = q.dims[1] / k.dims[1];
    o.each([&](const Index& at) {
      int64_t shared = at[1] / sharing;
      std::vector<double> scores(static_cast<size_t>(keys));
      double most = -std::numeric_limits<double>::infinity(), total = 0, sum = 0;
      for (int64_t key = 0; key < keys; ++key) {
        double dot = 0;
        for (int64_t d = 0; d < q.dims[3]; ++d)
          dot +=
              static_cast<double>(q.at({at[0], at[1], at[2], d})) * k.at({at[0], shared, key, d});
        scores[static_cast<size_t>(key)] = dot * scale.at({0, 0, 0, 0});
        most = std::max(most, scores[static_cast<size_t>(key)]);
      }
      for (int64_t key = 0; key < keys; ++key) {
        double weight = std::exp(scores[static_cast<size_t>(key)] - most);
        total += weight;
        sum += weight * v.at({at[0], shared, key, at[3]});
      }
      o.at(at) = static_cast<float>(sum / total);
    });
  }
};

} // namespace tg::test
