"""How NUTS moves: an unconstrained number for every free dimension of a parameter."""
