"""The paper's experiments and the arena, one package each; ``engine`` is what they share."""
