"""Where data come from: each source is read into a `Problem`, whatever its form and size."""
