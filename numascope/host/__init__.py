"""What the kernel says. The only package that reads /proc, /sys and cgroups."""
