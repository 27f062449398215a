"""How records are correlated: models that give the law of an answer to those who know a secret."""
