"""The version of the daemon and of the command line."""

VERSION = "0.1.0"
