"""Query engines: mechanisms that decide what to answer, and which keys to show.

`sparse_vector`: AboveThreshold and the sparse vector technique, which says only yes or no.
`thresholded_histogram`: noisy counts of the keys that a data set has, from a threshold on.
`partition_selection`: which keys may be shown, by the optimal probabilities.
"""
