"""What is known about the parameters: exact, sampled or at a point."""
