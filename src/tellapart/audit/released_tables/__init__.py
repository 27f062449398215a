"""Attacks on released tables and synthetic data: singling out, linkability, inference.

- `aligned_tables`: original, released and control table as numbers and categories;
- `predicates`: descriptions made from the release that fit one person (singling out);
- `nearest_records`: released records nearest to a target (linkability, inference, copies);
- `table_audit`: the front door, and what successes beside the control's show.
"""
