"""Audits of trainings: the membership inference game, shadow models, LiRA, canaries, steps."""
