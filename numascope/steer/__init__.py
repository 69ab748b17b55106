"""Changing it. The only package that writes to the operating system."""
