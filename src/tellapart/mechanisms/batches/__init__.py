"""What data loaders do: how batches pick records, beyond Poisson samples.

`random_allocation`: each record in exactly one step of every epoch (balls in bins).
`shuffled_epochs`: one random order of all records an epoch, cut into batches.
`truncated_poisson`: Poisson samples that are cut down to a largest batch.
`poisson_replace_one`: Poisson samples for neighbours that replace a record.
`with_replacement`: batches in which a record may be several times.
`mixture_of_gaussians`: answers moved by a random amount, such as by a user's sampled records.
"""
