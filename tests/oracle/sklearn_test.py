#!/usr/bin/env python3
"""Compares scikit-learn pipelines written by skl2onnx (the domain ai.onnx.ml) with ONNX Runtime: the outputs of
`tg run --backend ref` and of the file of `tg opt`. Labels must be equal, and scores within 1e-5. Labels are integers,
because strings are not supported.

    tests/oracle/sklearn_test.py [--tg build/tg] [PART...]

PART selects pipelines whose name contains it. Without the packages onnxruntime, scikit-learn and skl2onnx the test is
skipped.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnxruntime as ort
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType
    from skl2onnx.common.data_types import Int64TensorType
    from sklearn import (cluster, compose, decomposition, ensemble, feature_selection, impute, linear_model, naive_bayes,
                         neighbors, neural_network, pipeline, preprocessing, svm, tree)
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
ROWS, FEATURES = 200, 6
LIMIT_S = 120


def data(classes):
    rng = np.random.default_rng(classes)
    x = rng.standard_normal((ROWS, FEATURES)).astype(np.float32)
    score = x @ rng.standard_normal(FEATURES) + 0.3 * rng.standard_normal(ROWS)
    if classes == 0:
        return x, score.astype(np.float32)
    return x, np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))


def scaled(model, scaler=preprocessing.StandardScaler):
    return pipeline.make_pipeline(scaler(), model)


# name: (model, number of classes, or 0 for a regression)
PIPELINES = {
    "standard_logistic_2": (scaled(linear_model.LogisticRegression()), 2),
    "standard_logistic_3": (scaled(linear_model.LogisticRegression()), 3),
    "minmax_logistic": (scaled(linear_model.LogisticRegression(), preprocessing.MinMaxScaler), 3),
    "normalizer_logistic": (scaled(linear_model.LogisticRegression(), preprocessing.Normalizer), 3),
    "binarizer_logistic": (scaled(linear_model.LogisticRegression(), preprocessing.Binarizer), 2),
    "selected_logistic": (pipeline.make_pipeline(feature_selection.SelectKBest(k=3), linear_model.LogisticRegression()), 3),
    "linear": (scaled(linear_model.LinearRegression()), 0),
    "ridge": (linear_model.Ridge(), 0),
    "sgd": (scaled(linear_model.SGDClassifier(random_state=0)), 3),
    "tree_2": (tree.DecisionTreeClassifier(max_depth=4, random_state=0), 2),
    "tree_3": (tree.DecisionTreeClassifier(max_depth=6, random_state=0), 3),
    "tree_regression": (tree.DecisionTreeRegressor(max_depth=5, random_state=0), 0),
    "forest_3": (ensemble.RandomForestClassifier(n_estimators=10, max_depth=5, random_state=0), 3),
    "forest_regression": (ensemble.RandomForestRegressor(n_estimators=10, max_depth=5, random_state=0), 0),
    "extra_trees": (ensemble.ExtraTreesClassifier(n_estimators=5, max_depth=6, random_state=0), 4),
    "boosting_2": (ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0), 2),
    "boosting_3": (ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0), 3),
    "boosting_regression": (ensemble.GradientBoostingRegressor(n_estimators=8, random_state=0), 0),
    "linear_svm": (svm.LinearSVC(random_state=0), 3),
    "imputed_logistic": (scaled(linear_model.LogisticRegression(), impute.SimpleImputer), 2),
    "polynomial_linear": (scaled(linear_model.LinearRegression(), preprocessing.PolynomialFeatures), 0),
    "polynomial_interactions": (pipeline.make_pipeline(preprocessing.PolynomialFeatures(3, interaction_only=True), linear_model.Ridge()), 0),
    "robust_ridge": (scaled(linear_model.Ridge(), preprocessing.RobustScaler), 0),
    "maxabs_elastic": (scaled(linear_model.ElasticNet(), preprocessing.MaxAbsScaler), 0),
    "extra_trees_regression": (ensemble.ExtraTreesRegressor(n_estimators=5, max_depth=6, random_state=0), 0),
    "bagging_regression": (ensemble.BaggingRegressor(n_estimators=4, random_state=0), 0),
    "ada_regression": (ensemble.AdaBoostRegressor(n_estimators=4, random_state=0), 0),
    "voting": (ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3))]), 0),
    "svc_2": (svm.SVC(random_state=0), 2),
    "svc_3": (svm.SVC(kernel="poly", degree=2, random_state=0), 3),
    "svc_linear": (svm.SVC(kernel="linear", random_state=0), 3),
    "svc_sigmoid": (svm.SVC(kernel="sigmoid", random_state=0), 4),
    "svr": (svm.SVR(), 0),
    "svr_poly": (svm.SVR(kernel="poly", degree=2), 0),
    "nu_svr": (svm.NuSVR(kernel="linear"), 0),
    "linear_svr": (svm.LinearSVR(), 0),
    "one_class_svm": (svm.OneClassSVM(), 0),
    "mlp_2": (scaled(neural_network.MLPClassifier(12, max_iter=40, random_state=0)), 2),
    "mlp_3": (scaled(neural_network.MLPClassifier((8, 8), activation="tanh", max_iter=40, random_state=0)), 3),
    "mlp_regression": (scaled(neural_network.MLPRegressor(hidden_layer_sizes=12, activation="logistic", max_iter=40, random_state=0)), 0),
    "pca_logistic": (scaled(linear_model.LogisticRegression(), lambda: decomposition.PCA(3)), 3),
    "svd_ridge": (scaled(linear_model.Ridge(), lambda: decomposition.TruncatedSVD(3)), 0),
    "naive_bayes": (naive_bayes.GaussianNB(), 3),
    "neighbors": (neighbors.KNeighborsClassifier(3), 3),
    "neighbors_regression": (neighbors.KNeighborsRegressor(3), 0),
    "binned": (pipeline.make_pipeline(preprocessing.KBinsDiscretizer(4, encode="onehot-dense"), linear_model.Ridge()), 0),
    "power": (scaled(linear_model.Ridge(), preprocessing.PowerTransformer), 0),
    "columns": (pipeline.make_pipeline(compose.ColumnTransformer([("a", preprocessing.StandardScaler(), [0, 1]), (
        "b", preprocessing.MinMaxScaler(), [3, 5])]), linear_model.LogisticRegression()), 3),
    "integers_one_hot": (pipeline.make_pipeline(preprocessing.OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
                                                linear_model.LogisticRegression()), 3),
    "integers_ordinal": (pipeline.make_pipeline(preprocessing.OrdinalEncoder(), linear_model.LogisticRegression()), 3),
}


def tg(options, *arguments):
    done = subprocess.run([options.tg, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        raise AssertionError(f"tg {arguments[0]}: {(done.stderr.strip().splitlines() or ['failed'])[0]}")


def compare(found, expected):
    if set(found) != set(expected):
        raise AssertionError(f"outputs {sorted(found)}, expected {sorted(expected)}")
    for name, want in expected.items():
        got = found[name]
        want = np.asarray(want)
        if got.dtype != want.dtype or got.shape != want.shape:
            raise AssertionError(f"{name} is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}")
        same = np.array_equal(got, want) if want.dtype.kind in "bi" else np.allclose(got, want, rtol=1e-5, atol=1e-5)
        if not same:
            raise AssertionError(f"{name} differs")


def results(path, x):
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {session.get_inputs()[0].name: x})))


def check(name, options, folder):
    model, classes = PIPELINES[name]
    x, y = data(classes)
    of_type = FloatTensorType
    if name.startswith("integers"):
        x, of_type = np.clip(np.round(x), -2, 2).astype(np.int64), Int64TensorType
    if "imputed" in name:
        x[::7, 2] = np.nan
    model.fit(x, y)
    has_maps = classes and not isinstance(model, svm.LinearSVC)
    proto = skl2onnx.convert_sklearn(model, initial_types=[("x", of_type([50, FEATURES]))], target_opset={"": 17, "ai.onnx.ml": 3},
                                     options={id(model): {"zipmap": False}} if has_maps else None)
    path, out, fast = folder / "m.onnx", folder / "out.npz", folder / "fast.onnx"
    path.write_bytes(proto.SerializeToString())
    np.savez(folder / "in.npz", x=x[:50])
    want = results(path, x[:50])
    tg(options, "run", path, "--backend", "ref", "--runs", "1", "--quiet", "--input", folder / "in.npz", "--output", out)
    compare(dict(np.load(out)), want)
    tg(options, "opt", path, "--cost", "analytic:cpu", "--time-limit", "20", "--quiet", "-o", fast)
    compare(results(fast, x[:50]), want)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    names = [n for n in PIPELINES if not options.parts or any(part in n for part in options.parts)]
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                check(name, options, Path(scratch))
            except Exception as error:  # noqa: BLE001 continue with the other pipelines
                failed += 1
                print(f"{name}: {error}")
    print(f"{len(names)} pipelines, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
