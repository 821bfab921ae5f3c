"""The order of the gallery: from first models to other people's packages."""

ORDER = (
    "plot_exact_against_lasso.py",
    "plot_choosing_k.py",
    "plot_near_optimal.py",
    "plot_gene_expression.py",
    "plot_messy_table.py",
    "plot_insurance_counts.py",
    "plot_forced_features.py",
    "plot_categorical_terms.py",
    "plot_heredity.py",
    "plot_sparse_svm.py",
    "plot_text.py",
    "plot_certificate_by_hand.py",
    "plot_features_from_disk.py",
    "plot_phase_transition.py",
    "plot_prediction_intervals.py",
    "plot_knockoffs.py",
    "plot_lorenz_equations.py",
)


def place(file: str) -> tuple[int, str]:
    """Where an example stands; examples that are not listed come last."""
    return (ORDER.index(file) if file in ORDER else len(ORDER), file)
