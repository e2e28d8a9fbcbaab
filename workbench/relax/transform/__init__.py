"""Layer 8: passes over the graph IR. One file each; the names are TVM's."""
