"""Privacy budgets that are spent step by step: filters, odometers and individual accounting.

- `pots`: what a budget is made of, what each step costs there, and which steps it takes;
- `filters`: `Budget`, made of pots, and `RenyiBudget`, for steps of kinds not known beforehand;
- `spending`: what both share: entries, what is left, and sums that never overspend;
- `plans`: steps fixed in advance; `odometer`: what may be said before a budget is spent;
- `individual`: a pot for each record, by its own contributions;
- `ledger`: a budget on record for a team, in a file (`ledger_file`) or a database (`ledger_sql`),
  as lines of which none can be changed unseen (`hash_chain`).
"""
