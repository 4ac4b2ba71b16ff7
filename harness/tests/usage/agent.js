// Nothing makes this file executable.
