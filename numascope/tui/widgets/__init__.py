"""Widgets by the Line API: they draw what they are given, and cost what the screen costs."""
