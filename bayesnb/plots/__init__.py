"""Pictures of posteriors, one file each, without mathematics of their own."""
