"""A made plan as text: MindSpore's JSON, and the launch lines of numactl, taskset and torchrun."""
