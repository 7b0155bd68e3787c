"""scikit-learn estimators, thin over the kernels."""
