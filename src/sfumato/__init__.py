"""sfumato: privacy-preserving data mining by perturbation. Blur every value, keep the patterns."""
