"""Every spanning tree of some nodes, written out."""

import itertools


def pruefer_trees(nodes):
    """Every tree of some nodes, as a set of edges (i, j) with i < j, by its sequence of nodes - 2 nodes."""
    found = set()
    for sequence in itertools.product(range(nodes), repeat=nodes - 2):
        degree = [1 + sequence.count(i) for i in range(nodes)]
        edges = []
        for node in sequence:
            leaf = degree.index(1)
            edges.append((min(leaf, node), max(leaf, node)))
            degree[leaf] -= 1
            degree[node] -= 1
        edges.append(tuple(i for i in range(nodes) if degree[i] == 1))
        found.add(frozenset(edges))
    return found
