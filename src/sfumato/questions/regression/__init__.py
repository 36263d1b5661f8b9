"""Regression through the noise."""
