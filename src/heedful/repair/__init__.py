"""Repair: models trained so that their attention may explain more, and what that costs."""
