"""The parts of an audit that need the original: reading it, promises, exposed records, utility."""
