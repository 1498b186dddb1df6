"""Another population than that of the fit: class probabilities that move, sets that cover, drift that is seen."""
