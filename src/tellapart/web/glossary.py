"""The glossary's first sentences, for terms that the page explains where they stand."""

# Term by term as docs/glossary.md has them, which a test holds them to.
TERMS = {
    "membership inference": (
        "An attack that decides from a release or a trained model whether a given record was "
        "in its data."
    ),
    "member": (
        "A member is a record that was in the data, a non-member one that could have been but"
        " was not."
    ),
    "FPR": (
        "The share of non-members that an attack flags as members, written α in the "
        "literature on tests."
    ),
    "TPR": "The share of members that an attack flags, 1 − β.",
    "trade-off function": (
        "The least false-negative rate of any test at each false-positive rate, for two given"
        " distributions of outputs: f(α) = inf β."
    ),
    "ROC curve": (
        "The true-positive rate against the false-positive rate, which is one minus the "
        "trade-off function."
    ),
    "privacy region": (
        "The pairs of false-positive and false-negative rates that some attack can reach "
        "under a guarantee (Kairouz, Oh and Viswanath 2015)."
    ),
    "ε": (
        "The largest factor, as a logarithm, by which one record changes the probability of "
        "any set of outputs, up to δ."
    ),
    "δ": "The probability mass outside the bound that ε gives.",
    "privacy profile": "The least δ for each ε, as a function.",
    "neighbouring relation": (
        "Which two data sets count as different in one record: one is added or removed, one "
        "is replaced, or one is zeroed out."
    ),
    "unit of privacy": "What one record stands for: a row, a person, a person's day, a household.",
    "group privacy": "What a guarantee for one record says about k records changed at once.",
    "DP-SGD": (
        "Stochastic gradient descent in which each record's gradient is clipped and Gaussian "
        "noise is added to the sum of a random batch (Abadi et al. 2016)."
    ),
    "membership advantage": (
        "The largest difference between true-positive and false-positive rate, over all "
        "attacks; it is the total variation distance of the two output distributions."
    ),
    "PPV": "The share of flagged records that are members.",
    "prior": "The attacker's probability of membership before and after seeing the output.",
    "attack score": (
        "A number that an attack gives each record, larger (or smaller) where it holds "
        "membership likelier."
    ),
    "experimental design": (
        "How the scores were made: one model for each score, many records in one model, or pairs."
    ),
    "p-value": "The probability of evidence at least as strong as this if the claim were true.",
    "multiple-testing budget": (
        "The probability of any false refutation, split over the tests that are made."
    ),
    "power": "The probability that an audit refutes a claim that is false by a given amount.",
    "correlated records": (
        "Records that say something about each other, as those of families or of successive "
        "days do."
    ),
    "Pufferfish privacy": (
        "A framework in which one names pairs of secrets that must stay indistinguishable, "
        "and the distributions the data may have (Kifer and Machanavajjhala 2014)."
    ),
    "baseline": (
        "How often the best guess without the output is right, by someone who knows all other"
        " records, written κ."
    ),
    "sensitivity": "How far one record can move a statistic, as an absolute value or a norm.",
    "Clopper-Pearson interval": "An exact confidence interval for a probability from counts.",
}
