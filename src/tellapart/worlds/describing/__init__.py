"""How a description in a file becomes a model, a query, a release, a policy and a target."""
