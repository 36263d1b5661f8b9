"""Attackers who know true values of a person, and look for the person's row or for a value they do not know."""
