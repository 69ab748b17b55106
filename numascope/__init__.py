"""Where the threads of a training job run, against where they were planned to run."""

__version__ = "0.1.0"
