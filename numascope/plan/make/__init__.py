"""Plans that are made: PyTorch's four modes, what MindSpore's own generator makes, and our balanced one."""
