"""Saying it: text twins of the screens and the JSON documents. No Textual, no Rich."""
