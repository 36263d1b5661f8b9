"""From results to something a person likes to read: charts first, tables after, nothing that needs a network."""
