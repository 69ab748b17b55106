"""What is wrong: verdicts, conditions and findings, pure functions of plan, machine and samples."""
