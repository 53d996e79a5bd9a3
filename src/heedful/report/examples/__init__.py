"""The texts of a page to look through: what each model made of them, word by word."""
