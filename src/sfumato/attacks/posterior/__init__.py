"""Bayes' rule through the stated law, column by column; the attacks differ in where the prior comes from."""
