// The numeric part of the domain ai.onnx.ml: scalers, encoders, linear models and ensembles of
// trees. All trees and rows are walked at once by gathers, one step for each level. A node is an
// index into tables of features, thresholds and children, and a leaf is its own child.
#include "compiler/import/onnx/read/forms/ml.h"

#include <cmath>
#include <map>

namespace tg::onnx {
namespace ml {

std::vector<std::string> texts(Call& call, llvm::StringRef name) {
  const schema::Attribute* found = call.attribute(name);
  if (!found) return {};
  return {found->strings().begin(), found->strings().end()};
}
Reals reals(Call& call, llvm::StringRef name) { return call.reals(name).value_or(Reals{}); }
Shape wholes(Call& call, llvm::StringRef name) { return call.wholes(name).value_or(Shape{}); }

NodeId rows_of(Call& call) {
  Emitter& e = call.emit();
  NodeId x = e.cast(call.input(0), DType::F32);
  if (e.rank(x) == 1) x = e.reshape(x, {1, e.size(x, 0)});
  return e.rank(x) == 2 ? x : call.fail("it takes rows [N, features], got " + e.type(x).text());
}

NodeId real_table(Emitter& e, const Reals& values, Ints shape) {
  Literal made{{DType::F32, Shape(shape.begin(), shape.end())}, {}, values};
  return e.literal(made);
}

NodeId transformed(Call& call, NodeId scores) {
  Emitter& e = call.emit();
  std::string name = call.text("post_transform", "NONE");
  if (name == "LOGISTIC") return e.unary(OpKind::Sigmoid, scores);
  if (name == "SOFTMAX") return e.softmax(scores, 1);
  if (name != "NONE") call.fail("its `post_transform` " + name + " is not supported");
  return scores;
}

void label(Call& call, llvm::StringRef ints, NodeId place) {
  Emitter& e = call.emit();
  Shape labels = wholes(call, ints);
  (void)texts(call, "classlabels_strings");
  if (!call.uses_result(0)) return;
  if (labels.empty()) {
    call.fail("its labels are strings, which are not supported");
    return;
  }
  call.result(0, e.gather(e.indices(labels), place, 0));
}

NodeId largest(Emitter& e, NodeId scores) {
  return e.op(OpKind::Argmax, {scores},
              {{"axis", Value::of_int(1)}, {"keepdims", Value::of_bool(false)}});
}

} // namespace ml

namespace {

using namespace ml;

// --- scalers -------------------------------------------------------------------------------------

void scaler(Call& call) {
  Emitter& e = call.emit();
  NodeId x = e.cast(call.input(0), DType::F32);
  Reals offset = reals(call, "offset"), scale = reals(call, "scale");
  auto row = [&](const Reals& values) {
    return real_table(e, values, {static_cast<int64_t>(values.size())});
  };
  if (!offset.empty()) x = e.sub(x, row(offset));
  if (!scale.empty()) x = e.mul(x, row(scale));
  call.result(x);
}

void normalizer(Call& call) {
  Emitter& e = call.emit();
  NodeId x = rows_of(call), size = e.unary(OpKind::Abs, x);
  std::string norm = call.text("norm", "MAX");
  if (norm == "MAX")
    size = e.reduce(OpKind::ReduceMax, x, {1}, true);
  else if (norm == "L1")
    size = e.sum(size, {1});
  else if (norm == "L2")
    size = e.unary(OpKind::Sqrt, e.sum(e.mul(x, x), {1}));
  else
    call.fail("its `norm` " + norm + " is unknown");
  NodeId none = e.equal(size, e.like(size, 0));
  call.result(e.div(x, e.select(none, e.like(size, 1), size)));
}

void binarizer(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  call.result(e.cast(e.less(e.like(x, call.real("threshold", 0)), x), e.dtype(x)));
}

void imputer(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  Reals values = reals(call, "imputed_value_floats");
  double replaced = call.real("replaced_value_float", 0);
  if (call.failed() || values.empty() || e.dtype(x) != DType::F32) {
    call.fail("it is supported only for floats");
    return;
  }
  NodeId bad =
      std::isnan(replaced) ? e.op(OpKind::NotEqual, {x, x}) : e.equal(x, e.like(x, replaced));
  call.result(e.select(bad, real_table(e, values, {static_cast<int64_t>(values.size())}), x));
}

void array_feature_extractor(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), places = indices_of(call, 1);
  if (call.failed()) return;
  int64_t count = e.type(places).elements();
  NodeId taken = e.gather(x, e.reshape(places, {count}), e.rank(x) - 1);
  call.result(e.rank(x) == 1 ? e.reshape(taken, {1, count}) : taken);
}

// --- encoders ------------------------------------------------------------------------------------

/// Compares each element with all keys: [.., keys].
NodeId matches(Emitter& e, NodeId x, NodeId keys) {
  NodeId column = e.unsqueeze(x, e.rank(x));
  NodeId same = e.equal(column, keys);
  if (!is_float(e.dtype(x))) return same;
  NodeId none = e.op(OpKind::LogicalAnd, {e.op(OpKind::NotEqual, {column, column}),
                                          e.op(OpKind::NotEqual, {keys, keys})});
  return e.op(OpKind::LogicalOr, {same, none}); // NaN is a valid key
}

/// Sets a 1 at the index of the category; unknown categories give none.
void one_hot_encoder(Call& call) {
  Emitter& e = call.emit();
  Shape categories = wholes(call, "cats_int64s");
  ignore(call, "zeros");
  NodeId x = e.cast(call.input(0), DType::I64);
  if (categories.empty()) {
    call.fail("its categories are strings, which are not supported");
    return;
  }
  call.result(e.cast(matches(e, x, e.indices(categories)), DType::F32));
}

/// Reads a list attribute, of integers or floats, or a tensor; invalid if absent.
NodeId listed(Call& call, const std::string& name) {
  Emitter& e = call.emit();
  Shape ints = wholes(call, name + "_int64s");
  if (!ints.empty()) return e.indices(ints);
  Reals floats = reals(call, name + "_floats");
  if (!floats.empty()) return real_table(e, floats, {static_cast<int64_t>(floats.size())});
  const schema::Attribute* given = call.attribute(name + "_tensor");
  FileValue tensor = given ? call.tensor(given->t()) : FileValue();
  return tensor.node;
}

/// Returns the value for the key that an element equals, or the default.
void label_encoder(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), keys = listed(call, "keys"), values = listed(call, "values");
  int64_t otherwise = call.whole("default_int64", -1);
  double otherwise_real = call.real("default_float", -0.0);
  const schema::Attribute* given = call.attribute("default_tensor");
  NodeId none = given ? call.tensor(given->t()).node : NodeId();
  if (call.failed()) return;
  if (!keys.valid() || !values.valid() || e.dtype(keys) != e.dtype(x)) {
    call.fail("its keys or values are strings, or their type differs from its input");
    return;
  }
  bool is_whole = is_integer(e.dtype(values));
  if (!none.valid())
    none = e.like(values, is_whole ? static_cast<double>(otherwise) : otherwise_real);
  NodeId found = e.cast(matches(e, x, keys), DType::I32);
  int64_t last = e.rank(found) - 1;
  NodeId place = e.op(OpKind::Argmax, {found}, {{"axis", Value::of_int(last)}});
  NodeId is_key = e.cast(e.reduce(OpKind::ReduceMax, found, {last}, false), DType::Bool);
  call.result(e.select(is_key, e.gather(values, place, 0), e.reshape(none, {})));
}

/// Concatenates the first features of each input.
void feature_vectorizer(Call& call) {
  Emitter& e = call.emit();
  Shape sizes = wholes(call, "inputdimensions");
  std::vector<NodeId> parts;
  for (size_t i = 0; i < call.input_count(); ++i) {
    NodeId x = e.cast(call.input(i), DType::F32);
    if (call.failed()) return;
    if (e.rank(x) != 2 || i >= sizes.size() || sizes[i] < 1 || sizes[i] > e.size(x, 1)) {
      call.fail("its `inputdimensions` do not match its inputs");
      return;
    }
    parts.push_back(e.slice(x, 1, 0, sizes[i]));
  }
  if (!parts.empty()) call.result(e.concat(parts, 1));
}

/// Returns scores by class, as a tensor instead of a list of maps.
void zip_map(Call& call) {
  ignore(call, "classlabels_int64s");
  ignore(call, "classlabels_strings");
  call.result(call.input(0));
}

// --- linear models -------------------------------------------------------------------------------

/// Returns x times the rows of coefficients, plus intercepts.
NodeId linear(Call& call, NodeId x, const Reals& coefficients, const Reals& intercepts) {
  Emitter& e = call.emit();
  int64_t features = e.size(x, 1);
  auto count = static_cast<int64_t>(coefficients.size());
  if (features == 0 || count == 0 || count % features != 0)
    return call.fail("its coefficients do not match rows of " + llvm::Twine(features));
  int64_t rows = count / features;
  NodeId weights = e.transpose(real_table(e, coefficients, {rows, features}), {1, 0});
  NodeId scores = e.matmul(x, weights);
  if (intercepts.empty()) return scores;
  return e.add(scores, real_table(e, intercepts, {static_cast<int64_t>(intercepts.size())}));
}

void linear_regressor(Call& call) {
  NodeId x = rows_of(call);
  ignore(call, "targets");
  Reals coefficients = reals(call, "coefficients"), intercepts = reals(call, "intercepts");
  if (!call.failed()) call.result(transformed(call, linear(call, x, coefficients, intercepts)));
}

void linear_classifier(Call& call) {
  Emitter& e = call.emit();
  NodeId x = rows_of(call);
  ignore(call, "multi_class");
  Reals coefficients = reals(call, "coefficients"), intercepts = reals(call, "intercepts");
  if (call.failed()) return;
  NodeId scores = linear(call, x, coefficients, intercepts);
  if (scores.valid() && e.size(scores, 1) < 2) {
    call.fail("one row of coefficients for two classes is not supported");
    return;
  }
  label(call, "classlabels_ints", largest(e, scores));
  call.result(1, transformed(call, scores));
}

// --- trees ---------------------------------------------------------------------------------------

/// The nodes of all trees in a row.
struct Trees {
  Shape features, yes, no, roots;
  Reals thresholds, missing; // missing: 1 if a NaN goes to `yes`
  std::string mode;          // of all branches
  int64_t depth = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> place; // by tree and number
};

/// Returns the longest path from a root; 0 if a tree has a cycle or a missing child.
int64_t depth_of(const Trees& trees) {
  Shape level = trees.roots;
  auto count = static_cast<int64_t>(trees.features.size());
  for (int64_t depth = 0; depth <= count; ++depth) {
    Shape next;
    for (int64_t node : level) {
      auto i = static_cast<size_t>(node);
      if (trees.yes[i] != node) next.append({trees.yes[i], trees.no[i]});
    }
    if (next.empty()) return std::max<int64_t>(depth, 1);
    if (static_cast<int64_t>(next.size()) > count) return 0;
    level = std::move(next);
  }
  return 0;
}

std::optional<Trees> read_trees(Call& call) {
  Trees trees;
  Shape ids = wholes(call, "nodes_treeids"), numbers = wholes(call, "nodes_nodeids");
  Shape yes = wholes(call, "nodes_truenodeids"), no = wholes(call, "nodes_falsenodeids");
  std::vector<std::string> modes = texts(call, "nodes_modes");
  Shape missing = wholes(call, "nodes_missing_value_tracks_true");
  trees.features = wholes(call, "nodes_featureids");
  trees.thresholds = reals(call, "nodes_values");
  ignore(call, "nodes_hitrates");
  size_t count = ids.size();
  for (size_t size : {numbers.size(), yes.size(), no.size(), modes.size(), trees.features.size(),
                      trees.thresholds.size()})
    if (size != count || count == 0) call.fail("its lists of nodes differ in length");
  if (call.failed()) return std::nullopt;
  std::vector<bool> is_child(count);
  for (size_t i = 0; i < count; ++i) trees.place[{ids[i], numbers[i]}] = static_cast<int64_t>(i);
  for (size_t i = 0; i < count; ++i) {
    auto self = static_cast<int64_t>(i);
    bool leaf = modes[i] == "LEAF";
    auto child = [&](int64_t number) {
      auto found = trees.place.find({ids[i], number});
      if (found == trees.place.end()) call.fail("a node has a child that does not exist");
      int64_t at = found == trees.place.end() ? self : found->second;
      is_child[static_cast<size_t>(at)] = true;
      return at;
    };
    trees.yes.push_back(leaf ? self : child(yes[i]));
    trees.no.push_back(leaf ? self : child(no[i]));
    trees.missing.push_back(i < missing.size() && missing[i] != 0 ? 1 : 0);
    if (leaf) trees.features[i] = 0;
    if (leaf) continue;
    if (!trees.mode.empty() && trees.mode != modes[i])
      call.fail("its branches use several kinds of comparison");
    trees.mode = modes[i];
  }
  for (size_t i = 0; i < count; ++i)
    if (!is_child[i]) trees.roots.push_back(static_cast<int64_t>(i));
  trees.depth = call.failed() ? 0 : depth_of(trees);
  if (trees.depth == 0) call.fail("its nodes do not form trees");
  return call.failed() ? std::nullopt : std::optional(std::move(trees));
}

NodeId takes_true_branch(Call& call, const Trees& trees, NodeId x, NodeId threshold) {
  Emitter& e = call.emit();
  if (trees.mode == "BRANCH_LEQ" || trees.mode.empty())
    return e.op(OpKind::LessEqual, {x, threshold});
  if (trees.mode == "BRANCH_LT") return e.less(x, threshold);
  if (trees.mode == "BRANCH_GTE") return e.op(OpKind::LessEqual, {threshold, x});
  if (trees.mode == "BRANCH_GT") return e.less(threshold, x);
  if (trees.mode == "BRANCH_EQ") return e.equal(x, threshold);
  if (trees.mode == "BRANCH_NEQ") return e.op(OpKind::NotEqual, {x, threshold});
  return call.fail("branches by " + trees.mode + " are not supported");
}

/// Returns the leaf of each tree for each row, [N, trees].
NodeId leaves(Call& call, const Trees& trees, NodeId x) {
  Emitter& e = call.emit();
  int64_t rows = e.size(x, 0), features = e.size(x, 1);
  if (llvm::any_of(trees.features, [&](int64_t i) { return i < 0 || i >= features; }))
    return call.fail("it reads features that its input does not have");
  auto count = static_cast<int64_t>(trees.features.size());
  auto walks = static_cast<int64_t>(trees.roots.size());
  NodeId flat = e.reshape(x, {rows * features});
  NodeId first = e.mul(e.iota({DType::I64, {rows, walks}}, 0), static_cast<double>(features));
  NodeId feature = e.indices(trees.features), yes = e.indices(trees.yes), no = e.indices(trees.no);
  NodeId threshold = real_table(e, trees.thresholds, {count});
  NodeId missing = real_table(e, trees.missing, {count});
  bool tracks = llvm::is_contained(trees.missing, 1.0);
  NodeId at = e.expand(e.reshape(e.indices(trees.roots), {1, walks}), {rows, walks});
  for (int64_t step = 0; step < trees.depth; ++step) {
    NodeId value = e.gather(flat, e.add(first, e.gather(feature, at, 0)), 0);
    NodeId goes = takes_true_branch(call, trees, value, e.gather(threshold, at, 0));
    if (tracks) {
      NodeId lacks = e.op(OpKind::LogicalAnd, {e.op(OpKind::NotEqual, {value, value}),
                                               e.less(e.like(value, 0), e.gather(missing, at, 0))});
      goes = e.op(OpKind::LogicalOr, {goes, lacks});
    }
    at = e.select(goes, e.gather(yes, at, 0), e.gather(no, at, 0));
  }
  return at;
}

/// Reads the weights of leaves from `prefix`_treeids, _nodeids, _ids and _weights: [nodes,
/// targets].
Reals weights_of_leaves(Call& call, const Trees& trees, const std::string& prefix,
                        int64_t targets) {
  Shape ids = wholes(call, prefix + "_treeids"), numbers = wholes(call, prefix + "_nodeids");
  Shape places = wholes(call, prefix + "_ids");
  Reals weights = reals(call, prefix + "_weights");
  Reals made(trees.features.size() * static_cast<size_t>(targets));
  if (ids.size() != numbers.size() || ids.size() != places.size() || ids.size() != weights.size())
    call.fail("its lists of weights differ in length");
  for (size_t i = 0; i < ids.size() && !call.failed(); ++i) {
    auto found = trees.place.find({ids[i], numbers[i]});
    if (found == trees.place.end() || places[i] < 0 || places[i] >= targets)
      call.fail("it has a weight for a node or target that does not exist");
    else
      made[static_cast<size_t>(found->second * targets + places[i])] += weights[i];
  }
  return made;
}

/// Returns the sums of the leaves' weights and base values, [N, targets].
NodeId scores_of(Call& call, const Trees& trees, NodeId x, const Reals& weights, int64_t targets) {
  Emitter& e = call.emit();
  auto count = static_cast<int64_t>(trees.features.size());
  NodeId taken = e.gather(real_table(e, weights, {count, targets}), leaves(call, trees, x), 0);
  std::string join = call.text("aggregate_function", "SUM");
  OpKind op = join == "MIN"       ? OpKind::ReduceMin
              : join == "MAX"     ? OpKind::ReduceMax
              : join == "AVERAGE" ? OpKind::ReduceMean
                                  : OpKind::ReduceSum;
  NodeId scores = e.reduce(op, taken, {1}, false);
  Reals base = reals(call, "base_values");
  if (base.empty()) return scores;
  return e.add(scores, real_table(e, base, {static_cast<int64_t>(base.size())}));
}

void tree_regressor(Call& call) {
  NodeId x = rows_of(call);
  int64_t targets = call.whole("n_targets", 1);
  std::optional<Trees> trees = read_trees(call);
  if (!trees || targets < 1) return;
  Reals weights = weights_of_leaves(call, *trees, "target", targets);
  if (!call.failed()) call.result(transformed(call, scores_of(call, *trees, x, weights, targets)));
}

/// For two classes with weights of one: its score decides, and the other score is the complement.
NodeId both_classes(Emitter& e, NodeId score, bool is_part) {
  return e.concat({is_part ? e.sub(e.like(score, 1), score) : e.neg(score), score}, 1);
}

void tree_classifier(Call& call) {
  Emitter& e = call.emit();
  NodeId x = rows_of(call);
  std::optional<Trees> trees = read_trees(call);
  Shape ids = wholes(call, "class_ids");
  if (!trees) return;
  auto classes = static_cast<int64_t>(std::max(wholes(call, "classlabels_int64s").size(),
                                               texts(call, "classlabels_strings").size()));
  bool one = classes == 2 && llvm::all_of(ids, [&](int64_t id) { return id == ids[0]; });
  Reals weights = weights_of_leaves(call, *trees, "class", std::max<int64_t>(classes, 1));
  if (call.failed()) return;
  bool is_part = llvm::all_of(reals(call, "class_weights"), [](double w) { return w >= 0; });
  if (one && reals(call, "base_values").size() > 1) {
    call.fail("two base values for weights of one class are not supported");
    return;
  }
  NodeId scores = scores_of(call, *trees, x, weights, classes);
  if (one) scores = e.slice(scores, 1, ids[0], ids[0] + 1);
  NodeId place =
      one ? e.cast(e.less(e.like(scores, is_part ? 0.5 : 0), scores), DType::I64) : NodeId();
  if (one) scores = both_classes(e, scores, is_part);
  label(call, "classlabels_int64s", one ? e.squeeze(place, 1) : largest(e, scores));
  call.result(1, transformed(call, scores));
}

} // namespace

llvm::ArrayRef<Form> ml_forms() {
  static constexpr Form kForms[] = {
      {"ai.onnx.ml.ArrayFeatureExtractor", array_feature_extractor},
      {"ai.onnx.ml.Binarizer", binarizer},
      {"ai.onnx.ml.FeatureVectorizer", feature_vectorizer},
      {"ai.onnx.ml.Imputer", imputer},
      {"ai.onnx.ml.LabelEncoder", label_encoder},
      {"ai.onnx.ml.LinearClassifier", linear_classifier},
      {"ai.onnx.ml.LinearRegressor", linear_regressor},
      {"ai.onnx.ml.Normalizer", normalizer},
      {"ai.onnx.ml.OneHotEncoder", one_hot_encoder},
      {"ai.onnx.ml.SVMClassifier", svm_classifier},
      {"ai.onnx.ml.SVMRegressor", svm_regressor},
      {"ai.onnx.ml.Scaler", scaler},
      {"ai.onnx.ml.TreeEnsembleClassifier", tree_classifier},
      {"ai.onnx.ml.TreeEnsembleRegressor", tree_regressor},
      {"ai.onnx.ml.ZipMap", zip_map},
  };
  return kForms;
}

} // namespace tg::onnx
