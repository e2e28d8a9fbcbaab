"""Small models that ship with the package, so that every example runs without a download.

Read next: `workbench.models.digits`.
"""
