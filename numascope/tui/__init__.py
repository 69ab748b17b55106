"""The dashboard. The only package that knows Textual and plotext."""
