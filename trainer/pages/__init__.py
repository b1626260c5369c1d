"""Self-contained HTML pages about a run, which open without network."""
