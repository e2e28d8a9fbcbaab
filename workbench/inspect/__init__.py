"""Consumers of the recorder: traces of passes, measured times.

Data objects with plain text and rich display; live views are asked for with `.explore()`.
"""
