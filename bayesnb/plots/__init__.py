"""Pictures, one file each, without mathematics of their own."""
