"""The estimators that choose by cross-validation: scikit-learn's checks, its conventions, and no leakage."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from checks import check_certificate
from clusters import two_workers
from samples import sample
from sparsest import (
    BestSubsetClassifierCV,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedClassifierCV,
    PenalizedRegressor,
    PenalizedRegressorCV,
)
from sparsest.runtime.events import Fold, Status
from sparsest.runtime.faults import injected

SMALL = {"ks": (1, 3), "gammas": (0.1, 1.0), "cv": 3}
FEW = {"alphas": 10, "cv": 3}
CHEAP = [
    BestSubsetRegressorCV(**SMALL),
    BestSubsetClassifierCV(**SMALL),
    PenalizedRegressorCV(**FEW),
    PenalizedClassifierCV(**FEW, relax=True),
]
DEFAULTS = [type(estimator)() for estimator in CHEAP]


def ids(estimator):
    return type(estimator).__name__


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks([*DEFAULTS, *CHEAP[3:]])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def regression(n=90, p=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p) + 1.0
    return X, X[:, :3] @ [1.0, -2.0, 1.5] + 2.0 * rng.standard_normal(n)


def labelled(n=90, p=20, seed=0):
    X, u = regression(n, p, seed)
    return X, np.where(u > np.median(u), "yes", "no")


def data_for(estimator):
    return labelled() if hasattr(estimator, "predict_proba") else regression()


def means(model):
    return model.cv_results_["mean_test_score"]


every = pytest.mark.parametrize("estimator", CHEAP, ids=ids)


def test_cells_are_those_of_a_grid_search():
    """Every cell has the score of its model fitted alone; the choice and the final model are the same."""
    X, y = regression()
    folds = list(KFold(4, shuffle=True, random_state=1).split(X))
    ks, gammas = [1, 2, 3, 5], [0.01, 0.1, 1.0]
    model = BestSubsetRegressorCV(ks, gammas=gammas, cv=folds).fit(X, y)
    alone = BestSubsetRegressor(method="relaxation")
    search = GridSearchCV(alone, {"k": ks, "gamma": gammas}, cv=folds, scoring="neg_mean_squared_error").fit(X, y)
    theirs = {(row["k"], row["gamma"]): score for row, score in
              zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)}  # fmt: skip
    cells = zip(model.cv_results_["param_k"], model.cv_results_["param_gamma"], strict=True)
    np.testing.assert_allclose(means(model), [theirs[cell] for cell in cells], rtol=1e-6)
    assert {"k": model.k_, "gamma": model.gamma_} == search.best_params_
    assert model.best_score_ == means(model).max() == means(model)[model.best_index_]
    tree = BestSubsetRegressor(model.k_, gamma=model.gamma_).fit(X, y)
    assert np.array_equal(model.support_, tree.support_) and model.objective_ == pytest.approx(tree.objective_)
    assert model.gap_ <= 1e-4
    check_certificate(model.result_, X, y)


@pytest.mark.parametrize("fold_method", ["tree", "local", "subgradient", "cuts"])
def test_other_methods_in_folds(fold_method):
    X, y = regression(60, 8)
    settings = {"ks": (1, 3), "gammas": (0.05, 0.2), "cv": 3}
    model = BestSubsetRegressorCV(**settings, fold_method=fold_method).fit(X, y)
    np.testing.assert_allclose(means(model), means(BestSubsetRegressorCV(**settings).fit(X, y)), rtol=0.05)


def test_lasso_is_that_of_scikit_learn():
    X, y = regression()
    Z = StandardScaler().fit_transform(X)
    theirs = LassoCV(alphas=50, cv=5, tol=1e-8, max_iter=10**5).fit(Z, y)
    ours = PenalizedRegressorCV(alphas=theirs.alphas_, standardize=False, tol=1e-8, cv=KFold(5)).fit(Z, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(-means(ours), theirs.mse_path_.mean(axis=1), rtol=1e-3)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_pure_noise_scores_like_chance():
    """Models of a fold do not depend on its test rows; models of all rows would be much better than chance."""
    settings = {"ks": (3,), "gammas": (0.1,), "method": "local", "cv": 5}
    # The estimator screens the rows it is given, so within folds; by hand it would be done before them.
    screening = BestSubsetRegressor(3, gamma=0.1, method="local", screen=10, screen_by="path")
    inside, outside, lasso, classes, screens = [], [], [], [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((60, 1000)) * rng.uniform(0.1, 10.0, 1000), rng.standard_normal(60)
        chance = np.mean([((y[test] - y[train].mean()) ** 2).mean() for train, test in KFold(5).split(X)])
        chosen_before = np.argsort(-np.abs((X / X.std(axis=0)).T @ (y - y.mean())))[:10]
        inside.append(BestSubsetRegressorCV(**settings).fit(X, y).best_score_ / -chance)
        outside.append(
            BestSubsetRegressorCV(**{**settings, "ks": (10,)}).fit(X[:, chosen_before], y).best_score_ / -chance
        )
        errors = cross_val_score(screening, X, y, cv=KFold(5), scoring="neg_mean_squared_error")
        screens.append(errors.mean() / -chance)
        lasso.append(means(PenalizedRegressorCV(alphas=[0.2]).fit(X, y))[0] / -chance)
        model = BestSubsetClassifierCV(**settings, scoring="accuracy").fit(X, np.argsort(np.argsort(y)) < 30)
        classes.append(model.best_score_)
    assert np.mean(inside) > 0.97 and np.mean(lasso) > 0.97 and np.mean(screens) > 0.97
    assert np.mean(outside) < 0.8
    assert abs(np.mean(classes) - 0.5) < 0.1


@every
def test_one_standard_error(estimator):
    X, y = data_for(estimator)
    best, simple = clone(estimator).fit(X, y), clone(estimator).set_params(selection="one_se").fit(X, y)
    for name, column in best.cv_results_.items():
        np.testing.assert_array_equal(column, simple.cv_results_[name])
    scores = np.array([best.cv_results_[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_allclose(best.cv_results_["se_test_score"], scores.std(axis=0, ddof=1) / np.sqrt(3))
    bar = best.best_score_ - best.cv_results_["se_test_score"][best.best_index_]
    assert bar <= simple.best_score_ <= best.best_score_
    near = means(best) >= bar
    if hasattr(best, "k_"):
        assert simple.k_ == best.cv_results_["param_k"][near].min()
    else:
        same = near & (best.cv_results_["param_blend"] == best.blend_)
        assert simple.alpha_ == best.cv_results_["param_alpha"][same].max()
    with pytest.raises(ValueError, match="at least two folds"):
        clone(estimator).set_params(selection="one_se", cv=[(np.arange(60), np.arange(60, 90))]).fit(X, y)


@every
@pytest.mark.parametrize(
    "cv",
    [TimeSeriesSplit(3), PredefinedSplit(np.arange(90) % 3 - 1), [(np.arange(60), np.arange(60, 90))]],
    ids=["time", "predefined", "one validation set"],
)
def test_splitters(estimator, cv):
    X, y = data_for(estimator)
    model = clone(estimator).set_params(cv=cv).fit(X, y)
    splits = cv if isinstance(cv, list) else list(cv.split(X, y))
    assert f"split{len(splits) - 1}_test_score" in model.cv_results_
    assert f"split{len(splits)}_test_score" not in model.cv_results_
    given = clone(estimator).set_params(cv=splits).fit(X, y)
    np.testing.assert_array_equal(means(model), means(given))


@every
def test_groups_and_weights(estimator):
    X, y = data_for(estimator)
    groups, weights = np.arange(90) // 15, np.random.default_rng(0).uniform(0.5, 2.0, 90)
    cv = GroupKFold(3)
    splits = list(cv.split(X, y, groups))
    plain = clone(estimator).set_params(cv=splits, scoring=None).fit(X, y, sample_weight=weights)
    grouped = clone(estimator).set_params(cv=cv).fit(X, y, sample_weight=weights, groups=groups)
    np.testing.assert_array_equal(means(plain), means(grouped))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(lambda y, u, sample_weight=None: -float(sample_weight is None)).set_score_request(
            sample_weight=True
        )
        routed = clone(estimator).set_params(cv=cv).fit(X, y, sample_weight=weights, groups=groups)
        np.testing.assert_array_equal(means(plain), means(routed))
        assert (
            means(clone(routed).set_params(scoring=scorer).fit(X, y, sample_weight=weights, groups=groups)) == 0
        ).all()
    with pytest.raises(TypeError, match="colours"):
        clone(estimator).fit(X, y, colours=groups)


@every
def test_weights_repeat_and_drop_rows(estimator):
    """A weight of two is a row twice, one of zero none, in fits and in scores alike."""
    X, y = data_for(estimator)
    weights = np.arange(90) % 3
    fold = np.arange(90) % 2
    splits = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in (0, 1)]
    weighted = clone(estimator).set_params(cv=splits).fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(90), weights)
    again = [(np.flatnonzero(fold[rows] != i), np.flatnonzero(fold[rows] == i)) for i in (0, 1)]
    repeated = clone(estimator).set_params(cv=again).fit(X[rows], y[rows])
    np.testing.assert_allclose(means(weighted), means(repeated), rtol=1e-3)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-3, atol=1e-4)


@every
def test_scorers(estimator):
    X, y = data_for(estimator)
    name = "roc_auc" if hasattr(estimator, "predict_proba") else "neg_mean_absolute_error"
    model = clone(estimator).set_params(scoring=name).fit(X, y)
    assert 0.7 < model.best_score_ <= 1.0 if name == "roc_auc" else -3.0 < model.best_score_ < 0.0
    if name != "roc_auc":
        by_hand = clone(estimator).set_params(scoring=make_scorer(mean_absolute_error, greater_is_better=False))
        np.testing.assert_array_equal(means(by_hand.fit(X, y)), means(model))
    else:
        loss = clone(estimator).set_params(scoring="neg_log_loss").fit(X, y)
        deviance = means(clone(estimator).fit(X, y))
        sane = deviance > -3.0
        assert sane.sum() >= 4
        np.testing.assert_allclose(2.0 * means(loss)[sane], deviance[sane], rtol=1e-6)


@every
def test_jobs_do_not_matter(estimator):
    """Scores are the same to the last bit: folds have one thread of BLAS each, wherever they are fitted.

    They were so in 96 comparisons of one process with two beside a load of 17, and in six processes with kernels
    compiled anew, in other orders, and one or two threads of BLAS.  Products, sums and factors of these shapes do not
    depend on the alignment of the arrays either.
    """
    X, y = data_for(estimator)
    cv = KFold(3, shuffle=True, random_state=0)
    one, two = (clone(estimator).set_params(cv=cv, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    for name, column in one.cv_results_.items():
        np.testing.assert_array_equal(column, two.cv_results_[name])
    assert one.best_index_ == two.best_index_
    # The tree for all data has as many threads as there are jobs, and these may find models in another order.
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)


def test_dask_cluster():
    X, y = regression()
    here = BestSubsetRegressorCV(**SMALL).fit(X, y)
    with two_workers(), joblib.parallel_config(backend="dask"):
        there = BestSubsetRegressorCV(**SMALL, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(means(here), means(there))
    assert (here.k_, here.gamma_) == (there.k_, there.gamma_)


@every
def test_storages(estimator):
    X, y = data_for(estimator)
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    dense = clone(estimator).fit(X, y)
    names = [f"x{j}" for j in range(X.shape[1])]
    for stored in (sp.csc_array(X), sp.csr_matrix(X), pd.DataFrame(X, columns=names)):
        model = clone(estimator).fit(stored, y)
        # Refits of separated classes are large and not worth comparing.
        sane = means(dense) > -10.0
        np.testing.assert_allclose(means(model)[sane], means(dense)[sane], rtol=1e-3)
        np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-3, atol=1e-5)
    assert model.feature_names_in_.tolist() == names
    assert model.get_feature_names_out().tolist() == [names[j] for j in model.support_]
    assert len(pd.DataFrame(model.cv_results_)) == means(model).size


def test_relaxed_lasso_blends_least_squares():
    X, y = regression(200)
    model = PenalizedRegressorCV(relax=True, selection="one_se").fit(X, y)
    support = model.support_
    lasso = PenalizedRegressor(alpha=model.alpha_).fit(X, y)
    least_squares = np.linalg.lstsq(np.c_[X[:, support], np.ones(200)], y, rcond=None)[0]
    expected = model.blend_ * lasso.coef_[support] + (1.0 - model.blend_) * least_squares[:-1]
    assert model.blend_ < 1.0
    np.testing.assert_allclose(model.coef_[support], expected, rtol=1e-4, atol=1e-6)
    assert model.best_score_ >= PenalizedRegressorCV().fit(X, y).best_score_ - 0.2


def test_parameters_of_penalties():
    X, y = regression()
    net = PenalizedRegressorCV("elastic_net", l1_ratios=[0.3, 0.8], **FEW).fit(X, y)
    assert net.l1_ratio_ in (0.3, 0.8) and net.concavity_ is None
    assert set(net.cv_results_["param_l1_ratio"]) == {0.3, 0.8}
    concave = PenalizedRegressorCV("mcp", concavities=2.5, **FEW).fit(X, y)
    assert concave.concavity_ == 2.5 and concave.l1_ratio_ == 1.0 and concave.gap_ is None
    with_ridge = PenalizedRegressorCV("scad", l1_ratios=[0.4, 0.9], **FEW).fit(X, y)
    assert with_ridge.concavity_ == 3.7 and with_ridge.l1_ratio_ in (0.4, 0.9)
    with pytest.raises(ValueError, match="'l1' has no parameter concavity"):
        PenalizedRegressorCV(concavities=[3.0]).fit(X, y)


def test_defaults():
    """The automatic grids: k from 0, γ by factors of four, and the same scores as with the grid spelled out."""
    X, y = regression(60, 6)
    model = BestSubsetRegressorCV().fit(X, y)
    table = model.cv_results_
    assert set(table["param_k"]) == {0, 1, 2, 3, 4, 5, 6}
    gammas = np.unique(table["param_gamma"])
    np.testing.assert_allclose(gammas[1:] / gammas[:-1], 4.0)
    spelled = BestSubsetRegressorCV(range(7), gammas=gammas).fit(X, y)
    assert spelled.k_ == model.k_
    np.testing.assert_allclose(means(model), means(spelled), rtol=0.02)
    labels = BestSubsetClassifierCV(gammas=[0.1], cv=StratifiedKFold(3)).fit(X, y > 0)
    assert labels.best_score_ < 0.0 and labels.result_.classes.tolist() == [False, True]


def test_more_features_are_tried_where_ten_are_the_best():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 25))
    y = X[:, :14].sum(axis=1) + 0.1 * rng.standard_normal(150)
    model = BestSubsetRegressorCV(gammas=(1.0,), cv=3, method="local").fit(X, y)
    assert model.k_ == 14 and set(model.cv_results_["param_k"]) == {*range(11), 12, 14, 16, 19, 22}
    assert model.at_an_end_ == ""
    given = BestSubsetRegressorCV(range(11), gammas=(1.0,), cv=3, method="local")
    with pytest.warns(UserWarning, match="largest one that was tried, 10: give larger ks") as told:
        given.fit(X, y)
    assert given.k_ == 10 and [str(one.message) for one in told] == [given.at_an_end_]
    assert told[0].filename == __file__


def test_a_choice_at_the_end_of_the_grid_is_told():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 260))
    y = X.sum(axis=1)
    with pytest.warns(UserWarning, match="is the largest one that was tried, 252: give larger ks"):
        BestSubsetRegressorCV(gammas=(1.0,), cv=2, method="local").fit(X, y)


def test_noise_may_have_no_features():
    rng = np.random.default_rng(1)
    model = BestSubsetRegressorCV(gammas=(1.0,)).fit(rng.standard_normal((80, 12)), rng.standard_normal(80))
    assert model.k_ == 0 and model.support_.size == 0 and np.ptp(model.predict(np.eye(12))) == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ks": 3}, "ks must be a list"),
        ({"ks": []}, "ks is empty"),
        ({"gammas": "large"}, "gammas must be 'auto'"),
        ({"gammas": [0.0]}, "every entry of gammas must be a number > 0"),
        ({"gammas": [np.inf]}, "needs a ridge"),
        ({"selection": "simplest"}, "unknown selection"),
        ({"fold_method": "magic"}, "unknown method"),
        ({"cv": [([0, 1], [99])]}, "row numbers from 0 to 59"),
        ({"cv": []}, "no folds"),
        ({"include": (0, 1), "ks": (1,)}, "less than the 2 features"),
    ],
    ids=str,
)
def test_bad_parameters(change, message):
    X, y = regression(60, 6)
    with pytest.raises(ValueError, match=message):
        BestSubsetRegressorCV(**{"ks": (1,), "gammas": (0.1,), **change}).fit(X, y)


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (BestSubsetRegressorCV, {"method": "magic"}, "unknown method"),
        (BestSubsetRegressorCV, {"engine": "highs"}, "'tree' has no setting 'engine'"),
        (BestSubsetRegressorCV, {"method": "cuts", "engine": "magic"}, "unknown engine"),
        (BestSubsetRegressorCV, {"options": {"speed": 3}}, "has no option 'speed'"),
        (BestSubsetRegressorCV, {"options": 3}, "options must be a dict"),
        (BestSubsetRegressorCV, {"node_limit": 0}, "node_limit must be"),
        (BestSubsetRegressorCV, {"max_memory": -1.0}, "max_memory must be"),
        (BestSubsetRegressorCV, {"time_limit": 0.0}, "time_limit must be"),
        (BestSubsetRegressorCV, {"gap_tol": 2.0}, "gap_tol must be"),
        (BestSubsetRegressorCV, {"callback": 3}, "callback must be a function"),
        (BestSubsetRegressorCV, {"verbose": "yes"}, "verbose must be True or False"),
        (BestSubsetRegressorCV, {"max_coef": -1.0}, "max_coef must be"),
        (BestSubsetRegressorCV, {"include": (0,), "exclude": (0,)}, "both in include and in exclude"),
        (BestSubsetRegressorCV, {"include": (0, 1), "ks": (1, 2)}, "less than the 2 features"),
        (BestSubsetClassifierCV, {"selection": "simplest"}, "unknown selection"),
        (BestSubsetClassifierCV, {"n_jobs": "two"}, "n_jobs must be a whole number"),
        (BestSubsetClassifierCV, {"n_jobs": 0}, "n_jobs must not be 0"),
        (PenalizedRegressorCV, {"selection": "simplest"}, "unknown selection"),
        (PenalizedRegressorCV, {"selection": "one_se", "cv": [(range(30), range(30, 60))]}, "needs at least two folds"),
        (PenalizedRegressorCV, {"relax": "yes"}, "relax must be True or False"),
        (PenalizedClassifierCV, {"scoring": "magic"}, "scoring"),
    ],
    ids=str,
)
def test_settings_are_checked_before_any_fold_is_fitted(make, change, message):
    def fitted(*_):
        raise AssertionError("a fold was fitted")

    X, y = regression(60, 6)
    with injected("fold", fitted), pytest.raises(ValueError, match=message):
        make(**change).fit(X, y > 0 if make in (BestSubsetClassifierCV, PenalizedClassifierCV) else y)


def test_documentation_has_the_parameters():
    for estimator in CHEAP:
        assert all(name in type(estimator).__doc__ for name in estimator.get_params())


def test_forced_features():
    X, y = regression()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(20)])
    model = BestSubsetRegressorCV((2, 4), gammas=(0.1,), include=["x19"], exclude=["x0"], cv=3).fit(frame, y)
    assert 19 in model.support_ and 0 not in model.support_


def stopping(event):
    """A callback that wants to stop after the second fold."""
    return isinstance(event, Fold) and event.n_done == 2


def test_a_callback_stops_between_folds_and_there_is_a_model():
    X, y = regression()
    parts = list(KFold(4).split(X))
    model = BestSubsetRegressorCV(ks=(1, 3), gammas=(0.1, 1.0), cv=parts, callback=stopping)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 of 4 folds: the choice uses only these"):
        model.fit(X, y)
    wanted = BestSubsetRegressorCV(ks=(1, 3), gammas=(0.1, 1.0), cv=parts[:2]).fit(X, y)
    assert model.status_ is Status.INTERRUPTED and (model.k_, model.gamma_) == (wanted.k_, wanted.gamma_)
    np.testing.assert_array_equal(model.cv_results_["mean_test_score"], wanted.cv_results_["mean_test_score"])
    assert model.lower_bound_ <= wanted.objective_ * (1 + 1e-9) <= model.objective_ * (1 + 2e-4)
    check_certificate(model.result_, X, y)


def test_smaller_alphas_are_tried_where_the_smallest_is_the_best(monkeypatch):
    """With fewer rows than columns paths end at a hundredth of the first alpha, which is too soon for little noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 80))
    y = X[:, :4] @ [3.0, -2.0, 2.0, 1.5] + 0.2 * rng.standard_normal(60)
    model = PenalizedRegressorCV(alphas=20, cv=3, tol=1e-7).fit(X, y)
    tried = np.unique(model.cv_results_["param_alpha"])
    assert tried.size == 30 and tried[0] < model.alpha_ < tried[10]
    np.testing.assert_allclose(tried[1:] / tried[:-1], 100.0 ** (1 / 19))
    given = PenalizedRegressorCV(alphas=tried[10:], cv=3)
    with pytest.warns(
        UserWarning, match=r"the best alpha, .*, is the smallest one that was tried: try smaller"
    ) as told:
        given.fit(X, y)
    assert len(told) == 1 and str(told[0].message) == given.at_an_end_ and model.at_an_end_ == ""
    assert given.alpha_ == tried[10] and np.unique(given.cv_results_["param_alpha"]).size == 20
    noisy = PenalizedRegressorCV(alphas=20, cv=3).fit(X, y + 5.0 * rng.standard_normal(60))
    assert np.unique(noisy.cv_results_["param_alpha"]).size == 20
    monkeypatch.setattr("sparsest.estimators.penalized_cv._EXTENSIONS", 0)
    with pytest.warns(UserWarning, match=r"the best alpha, .*, is the smallest one that was tried: try smaller alphas"):
        PenalizedRegressorCV(alphas=20, cv=3, tol=1e-7).fit(X, y)


def test_the_largest_of_given_alphas_is_told_unless_it_leaves_no_features():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 20))
    y = X[:, 0] + 3.0 * rng.standard_normal(60)
    weak = PenalizedRegressorCV(alphas=[1e-3, 1e-2, 1e-1], cv=3)
    with pytest.warns(UserWarning, match="the best alpha, 0.1, is the largest one that was tried: try larger alphas"):
        weak.fit(X, y)
    noise = rng.standard_normal(60)
    empty = PenalizedRegressorCV(alphas=[1e-3, 1e-2, 10.0], cv=3).fit(X, noise)
    assert empty.alpha_ == 10.0 and empty.support_.size == 0 and empty.at_an_end_ == ""


@pytest.mark.parametrize("fold_method", ["relaxation", "local"])
def test_limits_of_coefficients_hold_in_folds_and_in_the_model(fold_method):
    X, y = sample("squared", 60, 6)
    names = [f"x{j}" for j in range(6)]
    frame = pd.DataFrame(X, columns=names)
    validated = BestSubsetRegressorCV(
        ks=(1, 3), gammas=(0.05, 0.3), cv=3, upper={"x1": 0.0}, positive=True, fold_method=fold_method
    )
    model = clone(validated).fit(frame, y)
    assert (model.coef_ >= 0.0).all() and model.coef_[1] == 0.0
    assert model.result_.statement.lower == (0.0,) * 6 and model.result_.statement.exclude == (1,)
    assert model.result_.certificate.verify(X, y)
    # Folds with limits have other scores than folds without.
    free = clone(validated).set_params(positive=False, upper=None).fit(frame, y)
    assert not np.allclose(free.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
