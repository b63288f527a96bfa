"""The measurements, each in a process of its own: a module each, with `measure`."""
