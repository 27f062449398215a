"""`tellapart budget`: `commands` are its own commands, `ledger_text` what they say."""
