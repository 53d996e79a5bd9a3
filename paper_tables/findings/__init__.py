"""What was found: one page of sentences and pictures, written by code out of compact rows.

No sentence is typed in for the numbers of today. Words of direction are chosen from intervals,
and where an interval holds zero the page says that it cannot tell.
"""
