"""How every picture looks."""
