"""Pictures of curves, regions and choices (extra ``plot``)."""
