"""Views: a value becomes a `Part` tree, and that text, HTML, SVG, PNG or JSON.

Read next: `part`, then `display` for which view a value has.
"""
