"""The paper's experiments and the comparison of learners, one package each. They share ``engine``."""
