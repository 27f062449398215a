"""The hub: trade-off curves, how they are made, combined, compared and stored."""
