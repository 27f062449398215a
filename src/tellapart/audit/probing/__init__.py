"""Black-box probing of a mechanism: calls, features, events, and a certificate."""
