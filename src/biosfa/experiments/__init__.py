"""The paper's experiments: what to run, what to plot, what to compare with."""
