"""The live page: type a text, move its attention, see the prediction."""
