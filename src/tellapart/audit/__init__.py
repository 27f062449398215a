"""From attack scores to a verdict: what was shown about a privacy claim, at what confidence."""
