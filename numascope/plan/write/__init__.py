"""A plan as text: MindSpore's JSON and numascope's own, launch lines, variables, and what others bind by."""
