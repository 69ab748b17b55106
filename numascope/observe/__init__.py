"""What runs on the machine: samples of threads, jobs, ranks, roles."""
