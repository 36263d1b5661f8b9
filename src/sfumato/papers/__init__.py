"""One module per paper: its experiment, data in, table and figure out."""
