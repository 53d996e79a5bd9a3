"""Small trained models; what is true of each is found by intervention, not assumed."""
