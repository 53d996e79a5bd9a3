"""Human evaluation: people judge what attention points at, or mark what they would point at."""
