"""The runner: from specs to finished runs in the store. Finished work is never redone."""
