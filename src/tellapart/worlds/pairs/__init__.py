"""Trade-off curves of two laws of a true answer (two secrets), seen through one release."""
