"""
Tumours by gene expression
==========================

Two kinds of tumours, 120 patients, 2000 genes in pathways whose genes are switched on together. The data are simulated,
so that the truth is known: four pathways differ between the tumours. The question is the usual one of such studies:
which few genes tell the tumours apart, and would other patients give the same genes?
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsest

rng = np.random.default_rng(0)
n_patients, n_pathways, n_genes = 120, 100, 2000
pathway = np.repeat(np.arange(n_pathways), n_genes // n_pathways)
tumour = rng.permutation(np.repeat(["adenoma", "carcinoma"], n_patients // 2))
activity = rng.standard_normal((n_patients, n_pathways))
activity[tumour == "carcinoma", :4] += 1.2
X = 0.8 * activity[:, pathway] + 0.6 * rng.standard_normal((n_patients, n_genes))
names = [f"gene {j} (pathway {pathway[j]})" for j in range(n_genes)]

# %%
# The best four genes, with the proof. Genes of a pathway are nearly exchangeable, which makes proofs hard; a ridge that
# is stronger than the default helps.
result = sparsest.best_subset(X, tumour, k=4, loss="logistic", gamma=5 / n_patients, feature_names=names)
print(result.summary())

# %%
# Cross-validation chooses how many genes predict best; all of the selection happens inside the folds.
model = sparsest.BestSubsetClassifierCV(ks=range(9), scoring="roc_auc").fit(X, tumour)
print(f"{model.k_} genes, AUC on held-out patients {model.best_score_:.2f}")
print("pathways:", sorted(pathway[model.support_].tolist()))

# %%
# Genes of one pathway replace each other, so the choice of single genes is not stable, but that of pathways is.
selector = sparsest.BestSubsetClassifier(k=4, method="relaxation")
repeated = sparsest.bootstrap(selector, X, tumour, n_resamples=50, random_state=0)
of_pathways = np.zeros(n_pathways)
for j in range(n_pathways):
    members = repeated.chosen[:, pathway == j]
    of_pathways[j] = np.mean(np.asarray(members.sum(axis=1)).ravel() > 0)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
axes[0].bar(np.arange(20), np.sort(repeated.inclusion)[::-1][:20], color="#0072b2")
axes[0].set(xlabel="genes, most frequent first", ylabel="share of resamples", title="single genes")
axes[1].bar(np.arange(20), of_pathways[:20], color=["#d55e00"] * 4 + ["#999999"] * 16)
axes[1].set(xlabel="pathway (the first four differ)", title="any gene of a pathway")
plt.show()
