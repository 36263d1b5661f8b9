"""Clusters: k-means and its scaling, agreement of clusterings, and the privacy of tables released around them."""
