"""Several releases of the same rows, and one release perturbed again."""
