"""Guided perturbation: the owner mines first, then bends the noise around the pattern so that it stays."""
