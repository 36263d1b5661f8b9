"""Filters that remove noise with the correlations between numeric columns."""
