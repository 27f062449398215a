"""What data loaders do: how batches pick records, beyond Poisson samples.

`random_allocation`: each record in exactly one step of every epoch (balls in bins).
`shuffled_epochs`: one random order of all records an epoch, cut into batches.
"""
