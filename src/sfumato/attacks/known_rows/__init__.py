"""Attackers who know the true values of a few rows of the release, and which rows they are.

What they learn from these rows they apply to all others. The rows they knew count for nothing.
"""
